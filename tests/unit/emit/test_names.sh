#!/usr/bin/env bash
# Every name that a program may have compiles, together with all others and after the headers that declare the same
# names. Names of headers are refused. Usage: test_names.sh <write_named> <source folder> <compiler>
set -euo pipefail
write_named=$1 source=$2 compiler=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
  echo "FAIL: $*"
  exit 1
}

# Keywords, macros, types and functions of C, POSIX, C++ and CUDA, tilepost's own words, and names like those that
# generated code makes from others.
nasty=(
  int long class union namespace template operator new delete this auto concept requires co_await
  constexpr alignas decltype typename export import module final override and not xor or_eq asm
  NULL EOF BUFSIZ stdin stdout NAN INFINITY HUGE_VAL M_PI RAND_MAX INT_MAX CHAR_BIT SEEK_SET
  linux unix i386 I major minor makedev offsetof va_list va_arg FILE DIR
  y0 y1 j0 jn log log2 exp sin cos pow sqrt floor ceil round gamma fma isnan signbit fpclassify
  read write open close select random rand abs div exit abort atexit system remove rename index
  rindex main scanf calloc free memcpy strlen raise kill fork pipe dup sync
  environ optarg daemon acct connect bind listen accept send recv socket stat access
  uint ushort ulong size_t ssize_t off_t pid_t int8_t uint64_t ptrdiff_t wchar_t char8_t u_char
  std tilepos host half bfloat16 float4 dim3 int2 uint3 cudaMalloc cudaError_t threadIdx blockIdx
  atomicAdd warpSize clock max min ncclComm_t ncclSum make_float4 rsqrt sincos saturate
  TILEPOST_OK TILEPOST_ABI_VERSION kM kN kK kRanks View make_plan plans program rows offset gemm_host
  x x_program x_H X X_program program_program a A ffn_up ffn_Up Ffn_up FFN_UP a_b a_B
  sm_80 sm_90a yes no null nan inf on off e1 x86 a0 Z9
)
names() { printf '%s\n' "${nasty[@]}"; }

refused=$(names | "$write_named" "$source/tests/specs/ar_host.yaml" "$dir" | tr '\n' ' ')
[ -z "$refused" ] || fail "refused: $refused"
{
  # The headers that declare these names. bits/stdc++.h has all of the standard library.
  printf '#include <%s>\n' bits/stdc++.h math.h complex.h unistd.h fcntl.h poll.h stdlib.h sys/socket.h \
    sys/stat.h sys/sysmacros.h sys/types.h sys/wait.h getopt.h netdb.h
  printf '#if __has_include(<cuda_runtime.h>)\n#include <cuda_runtime.h>\n#include <cuda_fp16.h>\n#endif\n'
  printf '#if __has_include(<nccl.h>)\n#include <nccl.h>\n#endif\n'
  names | sed 's/.*/#include "&.h"/'
  names | sed 's/.*/#include "&.cpp"/'
  echo "int main() {"
  names | sed 's/.*/  if (&_program()->plans[0].map.m != tilepost_gen_&::kM) return 1;/'
  echo "}"
} >"$dir/all_of_them.cxx"
cuda=()
nvcc=$(command -v nvcc) && cuda=(-isystem "$(dirname "$(readlink -f "$nvcc")")/../include")
"$compiler" -std=c++20 -fsyntax-only "${cuda[@]}" -I"$source/include" -I"$dir" "$dir/all_of_them.cxx" 2>"$dir/log" ||
  fail "$(head -20 "$dir/log")"

# Every header that generated code or its caller reaches at the top of an include folder.
printf '#include <%s>\n' bits/stdc++.h unistd.h fcntl.h poll.h pthread.h tilepost/tilepost.h \
  tilepost/host/woven.h >"$dir/headers.cxx"
printf '#if __has_include(<cuda_runtime.h>)\n#include <cuda_runtime.h>\n#include <cuda_bf16.h>\n#endif\n' \
  >>"$dir/headers.cxx"
"$compiler" -std=c++20 -H -fsyntax-only "${cuda[@]}" -I"$source/include" "$dir/headers.cxx" 2>&1 |
  sed -nE 's,^\.+ .*/include/([A-Za-z][A-Za-z0-9_]*)\.h$,\1,p' | grep -v __ | sort -u >"$dir/headers"
[ "$(wc -l <"$dir/headers")" -gt 30 ] || fail "too few headers: $(tr '\n' ' ' <"$dir/headers")"
"$write_named" "$source/tests/specs/ar_host.yaml" "$dir" <"$dir/headers" >"$dir/refused_headers"
diff "$dir/headers" "$dir/refused_headers" || fail "names of headers are taken"
echo "PASS: ${#nasty[@]} names, $(wc -l <"$dir/headers") headers"
