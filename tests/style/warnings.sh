#!/usr/bin/env bash
# Compiles what users compile, the public headers and generated code, with the warnings that users may have on, as
# errors. Usage: warnings.sh CXX [NVCC], in the root. Clang is tried besides where it is here.
# TILEPOST_EVERY_STANDARD: every header by itself as C++17 and C++23 too, in which they are otherwise read together.
set -euo pipefail
cxx=$1 nvcc=${2:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

strict=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wmissing-declarations
        -Wdouble-promotion -Werror)

fail() { echo "FAIL: $*" >&2; exit 1; }

# Headers that need nothing besides the standard library; the files of templates are generated code in part.
headers=(include/tilepost/*.h include/tilepost/tilepost.hpp include/tilepost/internal/*.h include/tilepost/host/*.h
         include/tilepost/cutlass/schedule.h)

# read_headers <what> <standard> <compiler> <flag…>: the headers that header.cpp includes.
read_headers() {
  local what=$1 standard=$2
  shift 2
  "$@" "$standard" "${strict[@]}" -fsyntax-only -Iinclude "$work/header.cpp" || fail "$1 $standard warns of $what"
}

# compile_with <compiler> <flag…>: every header by itself, as each standard has it, and generated host code.
compile_with() {
  local standard header
  for standard in 17 20 23; do
    : >"$work/header.cpp"
    for header in "${headers[@]}"; do
      case $standard:$header in 17:*/host/exchange.h | 17:*/host/woven.h) continue ;; esac  # C++20
      echo "#include \"${header#include/}\"" >>"$work/header.cpp"
      [ $standard = 20 ] || [ -n "${TILEPOST_EVERY_STANDARD:-}" ] || continue
      read_headers "$header" "-std=c++$standard" "$@"
      : >"$work/header.cpp"
    done
    if [ -s "$work/header.cpp" ]; then read_headers "the headers" "-std=c++$standard" "$@"; fi
  done
  "$@" -std=c++20 "${strict[@]}" -fsyntax-only -Iinclude tests/golden/host/expected/on_host.cpp ||
    fail "$1 warns of generated code"
}

case $("$cxx" --version) in
  *clang*) compile_with "$cxx" ;;
  *) compile_with "$cxx" -Wuseless-cast ;;
esac
if command -v clang++-19 >/dev/null; then compile_with clang++-19; fi

# The host's part of device code. What nvcc hands to the host's compiler has old-style casts and bounds of arrays of its
# own making, so warnings of those, and of conversions, say nothing of the source. Generated files that stand whole.
[ -n "$nvcc" ] || { echo "no nvcc: device code is not tried"; exit 0; }
for name in panel_sm90/expected/attn_out own_kernel_sm80/expected/own_down; do
  case $name in *sm80*) arch=80 ;; *) arch=90a ;; esac
  "$nvcc" -std=c++20 -Iinclude -gencode "arch=compute_$arch,code=sm_$arch" -cuda "tests/golden/$name.cu" \
    -Werror all-warnings -o "$work/host.ii" || fail "nvcc warns of $name.cu"
  "$cxx" -std=c++20 -fpreprocessed -Wall -Wextra -Wshadow -Wmissing-declarations -Wdouble-promotion -Werror \
    -fsyntax-only "$work/host.ii" || fail "$cxx warns of the host's part of $name.cu"
done
