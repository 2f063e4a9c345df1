#!/usr/bin/env bash
# The runtime as shared libraries, pkg-config's files, and prefixes that were moved. Usage: linked.sh static|shared|cuda
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
moved=$scratch/moved

# The failure is reported by one library and read from another.
write_program() {
  cat >"$scratch/main.cpp" <<'END'
#include <cstring>

#include "small.h"
int main() {
  tilepost_comm_t comms[2];
  if (tilepost_comm_create_host(-1, comms) == TILEPOST_OK) return 1;
  if (std::strstr(tilepost_last_error(), "-1") == nullptr) return 2;
  if (tilepost_comm_create_host(2, comms) != TILEPOST_OK) return 3;
  for (tilepost_comm_t comm : comms) tilepost_comm_destroy(comm);
  return small_program()->num_plans == 1 ? 0 : 4;
}
END
  step "generate" "$BUILD/bin/tilepost" generate "$here/consumer/small.yaml" -o "$scratch/generated"
}

# use_moved: the prefix in $moved serves CMake and pkg-config, and names no place outside.
use_moved() {
  grep -rlF -e "$PREFIX" -e "$SOURCE" -e "$scratch/prefix" "$moved/lib/cmake" "$moved/lib/pkgconfig" &&
    fail "a path of the place that it was installed in"
  build "$scratch/consumer" -S "$here/consumer" -G Ninja -Dtilepost_ROOT="$moved" \
    -Dtilepost_GENERATOR_EXECUTABLE="$BUILD/bin/tilepost"
  step "run the consumer" "$scratch/consumer/consumer"
  if ! command -v pkg-config >/dev/null; then
    echo "# no pkg-config here: its files are not tried"
    return
  fi
  write_program
  local flags
  read -ra flags < <(PKG_CONFIG_PATH="$moved/lib/pkgconfig" pkg-config --cflags --libs tilepost-host)
  step "compile by pkg-config" "$CXX" -std=c++20 -O0 -I"$scratch/generated" "$scratch/main.cpp" \
    "$scratch/generated/small.cpp" "${flags[@]}" -Wl,-rpath,"$moved/lib" -o "$scratch/program"
  step "run it" "$scratch/program"
}

# exports <library>: the names that it gives to callers, without those of the runtime's own libraries.
exports() { nm -D --defined-only "$moved/lib/libtilepost_$1.so" | sed -n 's/^[0-9a-f]* [TWBDV] //p' | sed 's/@.*PRIVATE$/ private/'; }

case $1 in
  static)
    cp -r "$PREFIX" "$moved"
    use_moved
    ;;
  shared)
    step "configure" "$CMAKE" -S "$SOURCE" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DBUILD_SHARED_LIBS=ON \
      -DTILEPOST_BUILD_TESTS=OFF -DTILEPOST_WITH_CUDA=OFF -DCMAKE_UNITY_BUILD=ON \
      -Dtilepost_GENERATOR_EXECUTABLE="$BUILD/bin/tilepost"
    step "build" "$CMAKE" --build "$scratch/build"
    step "install" "$CMAKE" --install "$scratch/build" --prefix "$scratch/prefix"
    mv "$scratch/prefix" "$moved"
    abi=$(sed -n 's/.*TILEPOST_ABI_VERSION \([0-9]*\)$/\1/p' "$SOURCE/include/tilepost/version.h")
    for library in core host; do
      readelf -d "$moved/lib/libtilepost_$library.so" >"$scratch/log"
      says "soname: [libtilepost_$library.so.$abi]" "$scratch/log"
      exports $library | grep -v -e ' private$' -e '^tilepost_' && fail "libtilepost_$library exports more than tilepost.h"
    done
    exports host | grep ' private$' && fail "libtilepost_host exports what nobody calls"
    # Every function of the C headers is in one of them, but for those of the CUDA target.
    sed -n 's/^[a-z].*[ *]\(tilepost_[a-z_]*\)(.*/\1/p' "$moved"/include/tilepost/{tilepost,timeline,routing}.h |
      grep -vxE 'tilepost_(get_unique_id|comm_init|comm_init_with|comm_adopt|comms_create)' | sort -u >"$scratch/declared"
    { exports core; exports host; } | sed 's/@.*//' | grep '^tilepost_' | sort -u >"$scratch/exported"
    diff "$scratch/declared" "$scratch/exported" || fail "not what the headers declare (<) is exported (>)"
    use_moved
    if [ -e "$scratch/program" ]; then
      readelf -d "$scratch/program" >"$scratch/log"
      says "[libtilepost_host.so.$abi]" "$scratch/log"
    fi
    ;;
  cuda)
    # Kernels must be known to the instance of the CUDA runtime that launches them: no program may have a second one.
    step "configure" "$CMAKE" -S "$SOURCE" -B "$scratch/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DTILEPOST_SHARED=ON \
      -DTILEPOST_BUILD_TESTS=OFF -DTILEPOST_WITH_CUDA=ON -DTILEPOST_CUDA_ARCHITECTURES=90 \
      -Dtilepost_GENERATOR_EXECUTABLE="$BUILD/bin/tilepost"
    step "build" "$CMAKE" --build "$scratch/build"
    step "install" "$CMAKE" --install "$scratch/build" --prefix "$moved"
    exports cuda | sed 's/@.*//' | sort >"$scratch/exported"
    printf 'tilepost_%s\n' comm_adopt comm_init comm_init_with comms_create cuda_kernel_loader get_unique_id |
      diff - "$scratch/exported" || fail "not these (<) are exported (>)"
    mkdir "$scratch/app"
    cat >"$scratch/app/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX CUDA)
find_package(tilepost REQUIRED COMPONENTS cuda generator)
add_tilepost_library(small SPEC ${SPEC} ARCHS 90a)
foreach(suffix cpp cu)
  add_executable(app_${suffix} main.${suffix})
  set_target_properties(app_${suffix} PROPERTIES CUDA_ARCHITECTURES 90a)
  target_link_libraries(app_${suffix} PRIVATE small)
endforeach()
END
    cat >"$scratch/app/main.cpp" <<'END'
#include "small.h"
int main() {
  tilepost_op_t op;
  return tilepost_op_create(nullptr, small_program(), nullptr, &op) == TILEPOST_INVALID_ARGUMENT ? 0 : 1;
}
END
    { echo '__global__ void own() {}'; sed 's/^int main() {/&\n  own<<<1, 1>>>();/' "$scratch/app/main.cpp"; } >"$scratch/app/main.cu"
    build "$scratch/app/build" -S "$scratch/app" -G Ninja -Dtilepost_ROOT="$moved" -DSPEC="$here/consumer/small.yaml" \
      -Dtilepost_GENERATOR_EXECUTABLE="$BUILD/bin/tilepost"
    for suffix in cpp cu; do
      step "run app_$suffix" "$scratch/app/build/app_$suffix"
      nm "$scratch/app/build/app_$suffix" >"$scratch/log"
      grep -q ' U __cudaRegisterFatBinary@libcudart' "$scratch/log" || fail "app_$suffix has a CUDA runtime of its own"
    done
    ;;
  *) fail "no case '$1'" ;;
esac
echo PASS
