#!/usr/bin/env bash
# find_package(tilepost), add_subdirectory(tilepost) and what bad calls get. Usage: package.sh <case>
. "$(dirname "$0")/common.sh"
here=$(cd "$(dirname "$0")" && pwd)
ready=$BUILD/bin/tilepost

# run_consumer <folder>: the built consumer works and its plans are where CMake says.
run_consumer() {
  local plans plan
  plans=$("$1") || fail "the consumer failed"
  for plan in $plans; do [ -s "$plan" ] || fail "no plan at '$plan'"; done
}

# refuses <text> <call>: the call ends configuration, with the text and the line of the call.
refuses() {
  local text=$1 call=$2
  shift 2
  if "$CMAKE" -S "$here/errors" -B "$scratch/errors" -DHELPERS="$SOURCE/cmake/TilepostHelpers.cmake" \
    -DCALL="$call" "$@" >"$scratch/errors.log" 2>&1; then
    fail "accepted: $call"
  fi
  says "$text" "$scratch/errors.log"
  grep -q "CMakeLists.txt" "$scratch/errors.log" || fail "no line of the caller: $call"
}

case $1 in
  install_tree)
    build "$scratch/consumer" -S "$here/consumer" -G Ninja -Dtilepost_DIR="$("$PREFIX/bin/tilepost" --cmake-dir)"
    run_consumer "$scratch/consumer/consumer"
    grep -rlF "$SOURCE" "$PREFIX/lib"*/cmake "$PREFIX/include" && fail "a path of the source tree in the package"
    ;;
  build_tree)
    build "$scratch/consumer" -S "$here/consumer" -G Ninja -Dtilepost_DIR="$BUILD"
    run_consumer "$scratch/consumer/consumer"
    ;;
  makefiles)
    build "$scratch/consumer" -S "$here/consumer" -G "Unix Makefiles" -Dtilepost_ROOT="$PREFIX"
    run_consumer "$scratch/consumer/consumer"
    ;;
  subdirectory)
    # In a unity build, as a parent may have it, and in no hurry to run.
    build "$scratch/parent" -S "$here/subdirectory" -G Ninja -DTILEPOST_SOURCE="$SOURCE" \
      -DTILEPOST_WITH_CUDA=OFF -Dtilepost_GENERATOR_EXECUTABLE="$ready" -DCMAKE_BUILD_TYPE=None \
      -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0
    run_consumer "$(find "$scratch/parent" -type f -name consumer -perm -u+x)"
    # With a generator of its own the parent builds that before it generates.
    step "configure with the generator" "$CMAKE" -S "$here/subdirectory" -B "$scratch/full" -G Ninja \
      -DTILEPOST_SOURCE="$SOURCE" -DTILEPOST_WITH_CUDA=OFF
    ninja -C "$scratch/full" -t query consumer/tilepost/small/small.cpp >"$scratch/inputs"
    grep -q ' .*bin/tilepost$' "$scratch/inputs" || fail "small.cpp does not wait for the generator"
    ;;
  ready_generator)
    # No LLVM: the runtime and the examples build with the program that is there.
    build "$scratch/lean" -S "$SOURCE" -G Ninja -DCMAKE_BUILD_TYPE=None -DTILEPOST_BUILD_TESTS=OFF \
      -DCMAKE_UNITY_BUILD=ON -DTILEPOST_BUILD_EXAMPLES=ON -DTILEPOST_WITH_CUDA=OFF -DCMAKE_DISABLE_FIND_PACKAGE_Clang=ON \
      -DCMAKE_DISABLE_FIND_PACKAGE_LLVM=ON -Dtilepost_GENERATOR_EXECUTABLE="$ready"
    step "run build_time" "$scratch/lean/bin/build_time"
    step "install" "$CMAKE" --install "$scratch/lean" --prefix "$scratch/prefix"
    [ ! -e "$scratch/prefix/bin/tilepost" ] || fail "a generator was installed"
    build "$scratch/consumer" -S "$here/consumer" -G Ninja -Dtilepost_ROOT="$scratch/prefix" \
      -Dtilepost_GENERATOR_EXECUTABLE="$ready"
    run_consumer "$scratch/consumer/consumer"
    if "$CMAKE" -S "$here/consumer" -B "$scratch/none" -Dtilepost_ROOT="$scratch/prefix" \
      >"$scratch/log" 2>&1; then
      fail "a missing generator went unnoticed"
    fi
    says "component 'generator': this tilepost was built without it" "$scratch/log"
    ;;
  static_llvm)
    # An archive that is not there is named with its package, before anything is linked.
    if "$CMAKE" -S "$SOURCE" -B "$scratch/static" -DTILEPOST_STATIC_LLVM=ON -DTILEPOST_BUILD_TESTS=OFF \
      -DTILEPOST_WITH_CUDA=OFF -DTILEPOST_ZSTD_ARCHIVE="$scratch/libzstd.a" >"$scratch/log" 2>&1; then
      fail "a missing archive went unnoticed"
    fi
    says "the archive '$scratch/libzstd.a' is not there; install the package that has it (Debian and Ubuntu: libzstd-dev)" \
      "$scratch/log"
    ;;
  components)
    for wanted in nonsense "host;nonsense"; do
      mkdir -p "$scratch/components"
      printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(components LANGUAGES CXX)' \
        "find_package(tilepost REQUIRED COMPONENTS $wanted)" >"$scratch/components/CMakeLists.txt"
      if "$CMAKE" -S "$scratch/components" -B "$scratch/components/build" \
        -Dtilepost_ROOT="$PREFIX" >"$scratch/log" 2>&1; then
        fail "component $wanted accepted"
      fi
      says "unknown component 'nonsense'; the components are host, plan, cuda, generator" "$scratch/log"
    done
    printf '%s\n' 'cmake_minimum_required(VERSION 3.25)' 'project(components LANGUAGES CXX)' \
      'find_package(tilepost 9.9 REQUIRED)' >"$scratch/components/CMakeLists.txt"
    "$CMAKE" -S "$scratch/components" -B "$scratch/components/build" -Dtilepost_ROOT="$PREFIX" \
      >"$scratch/log" 2>&1 && fail "version 9.9 accepted"
    says "version: 0." "$scratch/log"
    ;;
  errors)
    spec=$here/consumer/small.yaml
    printf 'tilepost: 1\nname: 1st\narch: host\n' >"$scratch/bad_name.yaml"
    printf 'tilepost: 1\nname: x\n' >"$scratch/no_arch.yaml"
    printf 'tilepost: 1\nname: x\narch: [sm_80, host]\n' >"$scratch/mixed.yaml"
    refuses "unknown keyword 'ARCH'; the keywords are SPEC, NAME, OUTPUT_DIR, PLAN_JSON, KERNEL_TARGET, MACHINE, TUNING, ARCHS, DEFINES, DEPENDS" \
      "add_tilepost_library(x SPEC $spec ARCH host)"
    refuses "unknown keyword 'DEFINE'" "add_tilepost_library(x SPEC $spec ARCHS host DEFINE gemm.m=1)"
    refuses "unknown keyword 'OUTPUT'" "tilepost_generate(x SPEC $spec DEPENDS y OUTPUT z)"
    refuses "unknown keyword 'spec.yaml'" "add_tilepost_library(x spec.yaml)"
    refuses "no value after NAME" "tilepost_generate(x SPEC $spec NAME)"
    refuses "add_tilepost_library(x): SPEC <file.yaml> is missing" "add_tilepost_library(x ARCHS host)"
    refuses "no spec file '$here/errors/none.yaml'" "add_tilepost_library(x SPEC none.yaml)"
    refuses "no tuning file '$here/errors/none.yaml'; 'tilepost tune' writes one" \
      "tilepost_generate(x SPEC $spec TUNING none.yaml)"
    refuses "no spec file '$here'" "add_tilepost_library(x SPEC $here)"
    refuses "unknown architecture '70'; the architectures are sm_80, sm_86, sm_89, sm_90a, host" \
      "tilepost_generate(x SPEC $spec ARCHS 70)"
    refuses "host cannot be mixed" "tilepost_generate(x SPEC $spec ARCHS host 90a)"
    refuses "host cannot be mixed" "tilepost_generate(x SPEC $scratch/mixed.yaml)"
    refuses "DEFINES takes path=value, got 'gemm.m'" "tilepost_generate(x SPEC $spec DEFINES gemm.m)"
    refuses "DEFINES cannot set 'arch=host': use NAME and ARCHS" \
      "tilepost_generate(x SPEC $spec DEFINES arch=host)"
    refuses "must be a C identifier, got '../up'" "tilepost_generate(x SPEC $spec NAME ../up)"
    refuses "must be a C identifier, got '1st'" "tilepost_generate(x SPEC $scratch/bad_name.yaml)"
    refuses "the name 'small' is that of tilepost_generate(x) in '$here/errors' already; give one of them another with NAME" \
      "tilepost_generate(x SPEC $spec)"$'\n'"tilepost_generate(y SPEC $spec DEFINES gemm.m=64)"
    refuses "the name 'small' is that of" \
      "tilepost_generate(x SPEC $spec)"$'\n'"tilepost_generate(y SPEC $spec NAME small OUTPUT_DIR other)" -G "Unix Makefiles"
    refuses "cannot read the architectures" "tilepost_generate(x SPEC $scratch/no_arch.yaml)"
    refuses "need the CUDA language" "add_tilepost_library(x SPEC $spec ARCHS 90a)"
    refuses "need tilepost::host" "add_tilepost_library(x SPEC $spec)"
    refuses "KERNEL_TARGET is 'kernels', which is no target" "tilepost_generate(x SPEC $spec KERNEL_TARGET kernels)"
    refuses "no generator" "tilepost_generate(x SPEC $spec)" -DNO_GENERATOR=ON
    refuses "which does not exist" "tilepost_generate(x SPEC $spec)" \
      -Dtilepost_GENERATOR_EXECUTABLE="$scratch/none"
    ;;
  *) fail "no case '$1'" ;;
esac
echo PASS
