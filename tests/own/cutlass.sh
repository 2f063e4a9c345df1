#!/usr/bin/env bash
# Kernels of CUTLASS's: which fields their specs may have, what is generated, and which wrong kernels do not compile.
# The test of the example compiles the right ones (tests/cmake/example.sh).
# The headers for CUTLASS are tried for warnings too.
# Usage: cutlass.sh spec TILEPOST             needs neither nvcc nor CUTLASS
#        cutlass.sh lies FOLDER               CUTLASS is in FOLDER, or is put there
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
example=$root/examples/06_cutlass
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

fail() {
  echo "FAIL $1"
  [ -z "${2:-}" ] || cat "$2"
  failed=1
}

# refused MESSAGE ARGUMENT…: expects that `check gemm.yaml` with the arguments fails with MESSAGE.
refused() {
  local message=$1
  shift
  if "$tool" check "$example/gemm.yaml" "$@" >"$dir/log" 2>&1; then
    fail "$*: accepted"
  elif ! grep -qF -- "$message" "$dir/log"; then
    fail "$*: expected '$message', got" "$dir/log"
  fi
}

# generated TEXT ARGUMENT…: expects TEXT in what `weave` prints.
generated() {
  local text=$1
  shift
  "$tool" weave "$@" >"$dir/woven" 2>"$dir/log" || fail "$*: refused" "$dir/log"
  grep -qF -- "$text" "$dir/woven" || fail "$*: no '$text' in" "$dir/woven"
}

check_specs() {
  for field in threads=384 shared_bytes=1024 blocks_per_sm=2 grid=1 loop=true "arguments={a: a}" signals=2 \
    "store_box=[64, 64, 128]" "defines=[X]"; do
    refused "kernel.${field%%=*} is not for kernel.adapter 'cutlass'" -D "kernel.$field"
  done
  refused "is for kernels of Hopper" -D arch=sm_80
  refused "is not possible with a kernel of your own" -D transport=peer
  refused "cannot read" -D kernel.file=nowhere.cuh
  refused "is no name of a function" -D "kernel.function=a;b"
  refused "kernel.cluster is 1, 2, 4 or 8" -D kernel.cluster=3
  refused "every rank has a share of 100 rows" -D gemm.m=400 -D transport=nccl
  refused "kernel.threads is missing" -D kernel.adapter=none
  generated '#include "gemm.cuh"' "$example/gemm.yaml"
  generated 'Kernel<::example::Gemm, 128, 256, 2, TILEPOST_BF16, TILEPOST_BF16,' "$example/gemm.yaml"
  generated 'Kernel::launch(call, user)' "$example/gemm.yaml"
  generated '::example::launch_scaled(call, user)' "$example/scaled.yaml"
  "$tool" generate "$example/gemm.yaml" --bundle "$dir/bundle" >"$dir/log" 2>&1 && fail "a bundle is made"
  grep -qF "a bundle has all that it is compiled from" "$dir/log" || fail "the bundle is refused otherwise" "$dir/log"
}

check_lies() {
  command -v nvcc >/dev/null || { echo "SKIP: there is no nvcc"; exit 77; }
  local cutlass said
  cutlass=$(bash "$here/find_cutlass.sh" "$1") || exit 77
  for define in LIES LAUNCHED_BY_CUTLASS; do
    nvcc -std=c++20 -arch=sm_90a --expt-relaxed-constexpr -I "$root/include" -I "$example" -isystem "$cutlass" \
      -D$define -c "$here/cutlass/lies.cu" -o "$dir/lies.o" >>"$dir/log" 2>&1 && fail "lies are compiled: $define"
  done
  tr -s ' \n' '  ' <"$dir/log" >"$dir/words"
  while read -r said; do
    if grep -qF -- "$said" "$dir/words"; then
      echo "refused: $said"
    else
      fail "nothing says '$said'"
    fi
  done < <(sed -n 's|^// says: ||p' "$here/cutlass/lies.cu")
  [ $failed = 0 ] || grep -E 'error' "$dir/log" | cut -c1-300
  check_warnings "$cutlass"
}

# The headers by themselves, and with a kernel's types, under the warnings that users may have on. Clang alone applies
# these to the source of device code.
check_warnings() {
  local cutlass=$1 cuda header
  command -v clang++-19 >/dev/null || { echo "SKIP warnings: there is no clang++-19"; return; }
  cuda=$(dirname "$(dirname "$(realpath "$(command -v nvcc)")")")
  : >"$dir/texture_fetch_functions.h"  # CUDA 13 no longer has this header, but Clang 19 includes it.
  for header in "$root"/include/tilepost/cutlass/*.h*; do echo "#include \"tilepost/cutlass/${header##*/}\"" >"$dir/${header##*/}.cu"; done
  cat >"$dir/kernel.cu" <<'END'
#include "gemm.cuh"
#include "tilepost/cutlass/launch.hpp"
using Kernel = tilepost::cutlass::Kernel<example::Gemm, 128, 256, 2, TILEPOST_BF16, TILEPOST_BF16, TILEPOST_TN>;
const void* function() { return Kernel::function(); }
cudaError_t launch(const tilepost_launch_call_t* call, void* user) { return Kernel::launch(call, user); }
END
  for header in "$dir"/*.cu; do
    clang++-19 -x cuda --cuda-device-only --cuda-gpu-arch=sm_90a --cuda-path="$cuda" -nocudalib -std=c++20 -fsyntax-only \
      -Xclang -target-sdk-version=12.5 -Xclang -target-feature -Xclang +ptx85 -Wno-unknown-cuda-version -D__CUDACC_VER_MAJOR__=13 \
      -D__CUDACC_VER_MINOR__=0 -isystem "$dir" -I "$root/include" -isystem "$example" -isystem "$cutlass" -isystem "$cuda/include/cccl" \
      -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wdouble-promotion -Werror "$header" \
      >"$dir/log" 2>&1 && echo "no warning: ${header##*/}" || fail "a warning of ${header##*/}" "$dir/log"
  done
}

if [ "$1" = spec ]; then
  tool=$2
  check_specs
else
  check_lies "$2"
fi
[ $failed = 0 ] && echo "PASS"
exit $failed
