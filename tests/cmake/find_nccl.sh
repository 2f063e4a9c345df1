#!/bin/bash
# FindNCCL.cmake, in folders that look like installations of NCCL. Usage: find_nccl.sh <source> <cmake>
set -u
source=$1 cmake=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset NCCL_ROOT NCCL_HOME CMAKE_PREFIX_PATH
failures=0

mkdir -p "$dir/project"
cat >"$dir/project/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(finds LANGUAGES NONE)
list(PREPEND CMAKE_MODULE_PATH "${MODULES}")
find_package(NCCL)
if(NCCL_FOUND)
  get_target_property(header NCCL::nccl INTERFACE_INCLUDE_DIRECTORIES)
  get_target_property(library NCCL::nccl IMPORTED_LOCATION)
  message(STATUS "found ${header} ${NCCL_VERSION} ${library} ${NCCL_LIBRARY_VERSION}.")
else()
  message(STATUS "missing: ${NCCL_REASON}.")
endif()
CMAKE

# header <root> <version>
header() {
  mkdir -p "$1/include"
  local IFS=.
  # shellcheck disable=SC2086
  printf '#define NCCL_MAJOR %s\n#define NCCL_MINOR %s\n#define NCCL_PATCH %s\n' $2 >"$1/include/nccl.h"
}
# library <file> <text>
library() {
  mkdir -p "$(dirname "$1")"
  printf '\177ELF\1\n%s\n' "$2" >"$1"
}

header "$dir/wheel" 2.27.5
library "$dir/wheel/lib/libnccl.so.2" "NCCL version 2.27.5+cuda12.9"
header "$dir/system" 2.21.5
library "$dir/system/lib/libnccl.so.2.21.5" "no word of its version"
ln -s libnccl.so.2.21.5 "$dir/system/lib/libnccl.so"
mkdir -p "$dir/headless" && cp -r "$dir/wheel/lib" "$dir/headless/lib"
mkdir -p "$dir/header" && cp -r "$dir/wheel/include" "$dir/header/include"
mkdir -p "$dir/old" && cp -r "$dir/system/lib" "$dir/old/lib64" && header "$dir/old" 2.27.5
mkdir -p "$dir/new" && cp -r "$dir/wheel/lib" "$dir/new/lib" && header "$dir/new" 2.21.5
library "$dir/mute/lib/libnccl.so" "no word of its version" && header "$dir/mute" 2.27.5

# expect <words> <flag or VARIABLE=value of the environment>…
expect() {
  local words=$1 flags=() variables=() each
  shift
  for each in "$@"; do
    case $each in -*) flags+=("$each") ;; *) variables+=("$each") ;; esac
  done
  rm -rf "$dir/build"
  env "${variables[@]}" "$cmake" -S "$dir/project" -B "$dir/build" "-DMODULES=$source/cmake" "${flags[@]}" \
    >"$dir/log" 2>&1 || echo "cmake failed" >>"$dir/log"
  grep -qF -- "$words" "$dir/log" && return
  echo "FAILED: $*: no '$words' in"
  cat "$dir/log"
  failures=$((failures + 1))
}

wheel="found $dir/wheel/include 2.27.5 $dir/wheel/lib/libnccl.so.2 2.27.5."
system="found $dir/system/include 2.21.5 $dir/system/lib/libnccl.so 2.21.5."
expect "$wheel" "-DNCCL_ROOT=$dir/wheel"
expect "$wheel" "NCCL_ROOT=$dir/wheel" "-DCMAKE_PREFIX_PATH=$dir/system"
expect "$wheel" "NCCL_HOME=$dir/wheel"
expect "$wheel" "NCCL_ROOT=$dir/wheel" "NCCL_HOME=$dir/system"
expect "$system" "-DNCCL_ROOT=$dir/system" "NCCL_ROOT=$dir/wheel"
expect "$system" "-DCMAKE_PREFIX_PATH=$dir/system;$dir/wheel"
expect "$system" "CMAKE_PREFIX_PATH=$dir/headless:$dir/header:$dir/system"
expect "$wheel" "-DNCCL_INCLUDE_DIR=$dir/wheel/include" "-DNCCL_LIBRARY=$dir/wheel/lib/libnccl.so.2"
expect "found $dir/new/include 2.21.5 $dir/new/lib/libnccl.so.2 2.27.5." "-DNCCL_ROOT=$dir/new"
expect "found $dir/mute/include 2.27.5 $dir/mute/lib/libnccl.so ." "-DNCCL_ROOT=$dir/mute"

expect "missing: NCCL_ROOT: there is no folder '$dir/nowhere'." "-DNCCL_ROOT=$dir/nowhere" "NCCL_HOME=$dir/wheel"
expect "missing: NCCL_HOME: there is no folder '$dir/nowhere'." "NCCL_HOME=$dir/nowhere"
expect "missing: NCCL_ROOT: '$dir/headless' has $dir/headless/lib/libnccl.so.2, but no include/nccl.h." \
  "-DNCCL_ROOT=$dir/headless" "-DCMAKE_PREFIX_PATH=$dir/system"
expect "missing: NCCL_ROOT: '$dir/header' has no libnccl.so and no libnccl.so.2 in lib or lib64." \
  "NCCL_ROOT=$dir/header" "-DCMAKE_PREFIX_PATH=$dir/system"
expect "missing: $dir/old/include/nccl.h is of version 2.27.5, and $dir/old/lib64/libnccl.so is older: 2.21.5." \
  "-DNCCL_ROOT=$dir/old"
expect "missing: NCCL_INCLUDE_DIR and NCCL_LIBRARY are given together, or neither" \
  "-DNCCL_INCLUDE_DIR=$dir/wheel/include"
expect "Could NOT find NCCL (missing:" "-DNCCL_ROOT=$dir/nowhere"

[ "$failures" = 0 ] && echo PASS
exit "$failures"
