#!/usr/bin/env bash
# The wheel tilepost-cli (python/tilepost_cli): made of this build, installed where nothing else of tilepost is.
# Usage: wheel.sh make|use|alone. WHEELS is the folder in which `make` leaves the wheel for the others; STATIC says
# whether this build's program contains LLVM.
. "$(dirname "$0")/common.sh"
specs=$SOURCE/tests/specs

make_wheel() { python3 "$SOURCE/python/tilepost_cli/make_wheel.py" --cmake "$CMAKE" "$BUILD" "$@"; }

# alone <command…>: with the environment of somebody who has installed the wheel, in a folder of specs.
alone() {
  (cd "$scratch/home" && env -i PATH="$scratch/venv/bin:/usr/bin:/bin" HOME="$scratch/home" \
    ${CXX:+CXX="$CXX"} ${XDG_CACHE_HOME:+XDG_CACHE_HOME="$XDG_CACHE_HOME"} "$@")
}

install_wheel() {
  python3 -c 'import ensurepip' 2>/dev/null || { echo "skipped: python3 has no ensurepip here (python3-venv)"; exit 77; }
  step "a fresh environment" python3 -m venv "$scratch/venv"
  step "pip install" "$scratch/venv/bin/pip" install --no-index --disable-pip-version-check "$WHEELS"/tilepost_cli-*.whl
  mkdir "$scratch/home"
  cp "$specs/ar_host.yaml" "$specs/ar_sm90.yaml" "$scratch/home"
}

# A project that has the package from the wheel and nothing else.
write_project() {
  cat >"$1/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES CXX)
find_package(tilepost 0.1 REQUIRED COMPONENTS host generator)
add_tilepost_library(ar_host SPEC ar_host.yaml)
add_executable(app main.cpp)
target_link_libraries(app PRIVATE ar_host)
END
  cat >"$1/main.cpp" <<'END'
#include "ar_host.h"
int main() {
  tilepost_comm_t comms[4];
  if (tilepost_comm_create_host(4, comms) != TILEPOST_OK) return 1;
  for (tilepost_comm_t comm : comms) tilepost_comm_destroy(comm);
  return ar_host_program()->num_plans == 1 ? 0 : 1;
}
END
}

case $1 in
  make)
    rm -rf "$WHEELS"
    if [ "$STATIC" = ON ]; then
      step "make the wheel" make_wheel "$WHEELS"
      name=$(basename "$WHEELS"/*.whl)
      [[ $name =~ ^tilepost_cli-[0-9.]+-py3-none-manylinux_2_[0-9]+_[a-z0-9_]+\.whl$ ]] || fail "the wheel is called $name"
      size=$(stat -c %s "$WHEELS"/*.whl)
      [ "$size" -le 20000000 ] || fail "the wheel has $size bytes, more than 20 MB"
    else
      make_wheel "$scratch/none" >"$scratch/log" 2>&1 && fail "a program that needs LLVM's libraries became a wheel"
      says "which other machines may not have; configure with -DTILEPOST_STATIC_LLVM=ON" "$scratch/log"
      [ ! -e "$scratch/none" ] || fail "a refused wheel left something"
      step "make a wheel for this machine" make_wheel "$WHEELS" --this-machine
    fi
    ;;
  use)
    install_wheel
    # The wheel is for other machines: no file names a place of this one, and symbols that not every supported NCCL has
    # are weak.
    package=$(echo "$scratch"/venv/lib/python3*/site-packages/tilepost_cli)
    grep -rlF -e "$BUILD" -e "$SOURCE" "$package" --include=*.pc --include=*.cmake && fail "a place of this machine"
    if [ -e "$package/lib/pkgconfig/tilepost-cuda.pc" ]; then
      says "nccl=-lnccl" "$package/lib/pkgconfig/tilepost-cuda.pc"
      # Not `grep -q`, which may end before nm does: nm then fails for that.
      [ -n "$(nm "$package/lib/libtilepost_cuda.a" 2>/dev/null | grep ' w ncclCommRevoke')" ] || fail "ncclCommRevoke is not weak"
    fi
    version=$(sed -n 's/.*VERSION_STRING "\(.*\)"/\1/p' "$SOURCE/include/tilepost/version.h")
    alone tilepost --version >"$scratch/log"
    says "tilepost $version (" "$scratch/log"
    alone pip show tilepost-cli >"$scratch/log" 2>/dev/null
    says "Version: $version" "$scratch/log"
    step "check" alone tilepost check ar_sm90.yaml
    step "python -m" alone python3 -m tilepost_cli check ar_sm90.yaml
    step "explain" alone tilepost explain ar_sm90.yaml
    step "generate" alone tilepost generate ar_sm90.yaml -o out
    step "bundle" alone tilepost generate ar_host.yaml --bundle bundle
    [ -s "$scratch/home/bundle/runtime/core/api.cpp" ] || fail "the bundle has no runtime"
    # Exit codes and signals are the program's: Python would have it ignore that nobody reads.
    code=0
    alone tilepost check none.yaml 2>/dev/null || code=$?
    [ $code = 3 ] || fail "exit $code for a missing spec"
    code=$(alone bash -c 'tilepost schema | sleep 0; echo "${PIPESTATUS[0]}"')
    [ "$code" = 141 ] || fail "exit $code where nobody reads, expected SIGPIPE's"
    step "verify" alone tilepost verify ar_host.yaml --target host
    write_project "$scratch/home"
    package=$(alone tilepost --cmake-dir)
    case $package in "$scratch/venv/"*) ;; *) fail "--cmake-dir is '$package'" ;; esac
    grep -rlF "$SOURCE" "$package" && fail "a path of the source tree in the package"
    step "configure" alone env -u CXX "$CMAKE" -S . -B tree "-Dtilepost_DIR=$package"
    step "build" alone "$CMAKE" --build tree
    step "run" alone tree/app
    step "pip uninstall" "$scratch/venv/bin/pip" uninstall -y tilepost-cli
    [ -z "$(find "$scratch/venv" -name '*tilepost*')" ] || fail "left behind: $(find "$scratch/venv" -name '*tilepost*')"
    ;;
  alone)
    # What takes long: the runtime is compiled from what the program carries, and the wheel is made a second time.
    install_wheel
    unset CXX XDG_CACHE_HOME
    step "verify, from nothing" alone tilepost verify ar_host.yaml --target host --no-cache
    step "bundle" alone tilepost generate ar_host.yaml --bundle bundle
    step "make check" alone make -C bundle -j2 check CXXFLAGS=-O1
    flag=--this-machine
    [ "$STATIC" = OFF ] || flag=
    step "make the wheel again" make_wheel "$scratch/again" $flag
    cmp "$WHEELS"/*.whl "$scratch/again"/*.whl || fail "another wheel of the same build"
    ;;
  *) fail "no case '$1'" ;;
esac
echo PASS
