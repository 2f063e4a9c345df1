#!/bin/bash
# `tilepost verify` from outside: what passes, which faults it finds, missing tools, and files left behind.
# Usage: test_verify.sh <tilepost>
set -u
tilepost=$(realpath "$1")
own=$(realpath "$(dirname "$0")/../../own/kernels")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export TMPDIR=$dir/tmp
mkdir -p "$TMPDIR"
failures=0

# expect <name> <exit code> <words>…: compares $status with the exit code. $dir/out must have all the words.
expect() {
  local name=$1 wanted=$2 words
  shift 2
  if [ "$status" -ne "$wanted" ]; then
    echo "FAILED: $name: exit code $status, expected $wanted"
    cat "$dir/out"
    failures=$((failures + 1))
    return
  fi
  for words in "$@"; do
    if ! grep -qF -- "$words" "$dir/out"; then
      echo "FAILED: $name: the output lacks '$words'"
      cat "$dir/out"
      failures=$((failures + 1))
    fi
  done
  echo "checked: $name"
}

# lacks <name> <words that the output must not have>
lacks() {
  grep -qF -- "$2" "$dir/out" || return 0
  echo "FAILED: $1: the output has '$2'"
  failures=$((failures + 1))
}

run() {
  timeout 600 "$@" >"$dir/out" 2>&1
  status=$?
}

# ---- Specs ------------------------------------------------------------------------------------------
cat >"$dir/small.yaml" <<'SPEC'
tilepost: 1
name: small
pattern: gemm_all_reduce
ranks: 2
gemm: {m: 192, n: 128, k: 70, a: bf16}
arch: host
schedule: {layout: panel}
SPEC
sed -e 's/name: small/name: on_gpu/' -e 's/arch: host/arch: sm_80/' "$dir/small.yaml" >"$dir/on_gpu.yaml"

# ---- What passes ------------------------------------------------------------------------------------
run "$tilepost" verify "$dir/small.yaml" --sweep schedule.layout=panel,tile --sweep gemm.a=bf16,f16 \
  --runs 6 --keep "$dir/kept"
expect "two sweeps" 0 "small_1  host  2 ranks  192x128x70 bf16 panel" \
  "small_4  host  2 ranks  192x128x70 f16 tile" "exact: 24576 elements equal, 6 runs" \
  "PASS: 4 plans, 28 runs, seed 1,"
if [ "$(grep -c '^ok    small_' "$dir/out")" -ne 8 ]; then
  echo "FAILED: two sweeps: expected 8 lines"
  failures=$((failures + 1))
fi
if grep -rqF "$dir" "$dir/kept"; then
  echo "FAILED: two sweeps: where it was built is in $(grep -rlF "$dir" "$dir/kept" | head -3)"
  failures=$((failures + 1))
fi

if [ -z "$(ls /dev/nvidia0 2>/dev/null)" ]; then
  run "$tilepost" verify "$dir/on_gpu.yaml"
  expect "a GPU's plan on the host" 0 "host target: this machine has 0 GPUs" "the spec wants 2" "PASS: 1 plan,"
  run "$tilepost" verify "$dir/on_gpu.yaml" --target cuda
  expect "no GPU" 1 "error: cannot verify on GPUs: this machine has 0 GPUs"
fi

# ---- Kernels of the user's own that a CPU does not run, or runs without its headers ------------------
cat >"$dir/asm.cu" <<'KERNEL'
#include <cuda_bf16.h>
__global__ void with_assembly(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += __bfloat162float(a[row * k + i]) * __bfloat162float(b[column * k + i]);
  asm volatile("mov.b32 %0, %0;" : "+f"(sum));
  c[row * n + column] = __float2bfloat16(sum);
}
KERNEL
cat >"$dir/asm.yaml" <<'SPEC'
tilepost: 1
name: with_asm
pattern: gemm_all_reduce
ranks: 2
gemm: {m: 64, n: 64, k: 20, a: bf16}
arch: sm_80
kernel: {file: asm.cu, function: with_assembly, tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}}
SPEC
sed -e "s|file: asm.cu|file: $own/beside_host_code.cu|; s|with_assembly|beside_host_code<half>|; s|a: bf16|a: f16|" \
  "$dir/asm.yaml" >"$dir/beside.yaml"
run "$tilepost" verify "$dir/asm.yaml" --target host --runs 1
expect "a kernel that was not run" 4 "it has inline assembly" \
  "NOT RUN: 1 kernel (with_assembly); gemm_host passed in its place: 1 plan, 2 runs, seed 1, "
lacks "a kernel that was not run" PASS
run "$tilepost" verify "$dir/asm.yaml" "$dir/small.yaml" --target host --runs 1 --json
expect "a kernel that was not run, in JSON" 4 '"exit_code": 4' '"with_assembly"' '"summary": "NOT RUN: 1 kernel '
run "$tilepost" verify "$dir/asm.yaml" --target host --no-run --keep "$dir/not_run"
expect "a kernel that would not be run" 4 "not run: $dir/not_run/harness"
run "$tilepost" verify "$dir/small.yaml" --no-run --keep "$dir/not_run"
expect "checks that are only compiled" 0 "not run: $dir/not_run/harness"
if nvcc=$(command -v "${CUDACXX:-nvcc}") && [ -e "$(dirname "$(realpath "$nvcc")")/../include/cublas_v2.h" ]; then
  run "$tilepost" verify "$dir/beside.yaml" --target host --runs 1
  expect "a kernel beside cuBLAS's host code" 0 "as beside_host_code<half> gives them" "PASS: 1 plan, 2 runs"
fi

# ---- What is missing --------------------------------------------------------------------------------
mkdir -p "$dir/toolkit/bin" "$dir/toolkit/include" "$dir/toolkit/lib" "$dir/headless/lib"
touch "$dir/toolkit/bin/nvcc" "$dir/toolkit/include/nccl.h" "$dir/toolkit/lib/libnccl.so" "$dir/headless/lib/libnccl.so.2"
chmod +x "$dir/toolkit/bin/nvcc"
nccl() {
  run env -u NCCL_ROOT -u NCCL_HOME CUDACXX="$dir/toolkit/bin/nvcc" "$1" "$tilepost" verify "$dir/on_gpu.yaml" \
    --target cuda --no-run --keep "$dir/no_nccl"
}
nccl NCCL_ROOT="$dir/headless"
expect "a root of NCCL without its header" 1 \
  "there is no NCCL's nccl.h: looked under $dir/headless, which NCCL_ROOT names"
nccl NCCL_HOME="$dir/nowhere"
expect "a root of NCCL that is not there" 1 \
  "there is no NCCL: NCCL_HOME names '$dir/nowhere', and there is no such folder"
run "$tilepost" verify "$dir/small.yaml" --target cuda
expect "a host spec on GPUs" 1 "error: cannot verify on GPUs: the spec's arch is 'host'"
run env CXX=/no/such/compiler "$tilepost" verify "$dir/small.yaml"
expect "no compiler" 1 "error: there is no C++ compiler: looked for '/no/such/compiler' (from CXX)"
run "$tilepost" verify "$dir/small.yaml" --keep "$dir/small.yaml/below"
expect "an impossible folder" 3 "error: cannot make folder"
run "$tilepost" verify "$dir/small.yaml" --sweep ranks=2,0
expect "a rejected case" 1 "ranks" "note: with ranks=0"
run "$tilepost" verify "$dir/small.yaml" -m 7
expect "rows for a plan with one m" 1 "error: -m is for specs with gemm.m '{max: …}'; 'small' is for"
run "$tilepost" verify "$dir/small.yaml" -D "gemm.m={max: 100}" -m 7,101
expect "rows beyond the bound" 1 "error: -m must be from 1 to the 100 rows that 'small' is for, got 101"

# ---- What is caught: the kept harness, built again with a fault in the woven header -----------------
header=$dir/kept/include/tilepost/host/woven.h
cp "$header" "$dir/woven.h"
tile='  return Tile{entry.m, entry.n, entry.row, entry.group};'
post='    post(view.counters, tile);'
grep -qF "$tile" "$header" && grep -qF "$post" "$header" || {
  echo "FAILED: woven.h has changed: adapt this test's faults"
  failures=$((failures + 1))
}

# fault <name> <words> <sed arguments>…
fault() {
  local name=$1 words=$2
  shift 2
  sed "$@" "$dir/woven.h" >"$header"
  if ! (cd "$dir/kept" && grep -E -- '^set|unit_0|-o .*/harness ' build.sh | sh) >"$dir/out" 2>&1; then
    echo "FAILED: $name does not compile"
    tail -20 "$dir/out"
    failures=$((failures + 1))
    return
  fi
  run "$dir/kept/harness" --deadline 2 --only small_1
  if [ "$words" = ok ]; then expect "$name" 0 "ok    small_1"; else expect "$name" 1 "FAIL  small_1" "$words"; fi
}

fault "no fault" ok -e 's/^$//'
fault "a wrong map" "first difference at" -e "s|^  return Tile{entry.m, entry.n, entry.row.*|  const int last = view.num_tiles - 1;\\
  const int other = position == 0 ? last : position == last ? 0 : position;\\
  return Tile{entry.m, entry.n, view.tiles[other].row, entry.group};|"
fault "a missing signal" "TILEPOST_TIMEOUT" -e "s|^$post|    { if (tile.m + tile.n > 0) post(view.counters, tile); }|"
fault "a signal before the store" "first difference at" -e 's|^#include "tilepost/internal/layout.h"|#include <unistd.h>\n&|' \
  -e "s|^$post|    { if (tile.m < 0) post(view.counters, tile); }|" \
  -e "s|^  return Tile{entry.m, entry.n, entry.row.*|  __atomic_fetch_add(view.counters + int64_t{entry.group} * TILEPOST_COUNTER_STRIDE, 1u, __ATOMIC_RELEASE);\\
  usleep(20000);\\
&|"

# ---- What is left behind ----------------------------------------------------------------------------
if [ -n "$(ls "$TMPDIR")" ]; then
  echo "FAILED: temporary folders were left: $(ls "$TMPDIR")"
  failures=$((failures + 1))
fi
# An interrupt while the runtime is compiled, which takes long enough.
"$tilepost" verify "$dir/small.yaml" --no-cache >"$dir/out" 2>&1 &
tool=$!
sleep 1
kill -INT "$tool" 2>/dev/null
wait "$tool"
status=$?
expect "an interrupt" 130 "error: interrupted by signal 2"
if [ -n "$(ls "$TMPDIR")" ] || pgrep -f "$TMPDIR" >/dev/null; then
  echo "FAILED: an interrupt left something behind: $(ls "$TMPDIR") $(pgrep -af "$TMPDIR")"
  failures=$((failures + 1))
fi

# This compiler ignores SIGTERM, so a second signal comes while the tool still handles the first.
printf '#!/bin/sh\ntrap "" TERM\n: >"%s/started"\nsleep 20 & wait; wait\n' "$dir" >"$dir/stubborn"
chmod +x "$dir/stubborn"
CXX=$dir/stubborn "$tilepost" verify "$dir/small.yaml" --no-cache >"$dir/out" 2>&1 &
tool=$!
for _ in $(seq 500); do [ -e "$dir/started" ] && break; sleep 0.02; done
kill -TERM "$tool"
for _ in 1 2 3 4; do sleep 0.1; kill -TERM "$tool" 2>/dev/null; done
wait "$tool"
status=$?
expect "several interrupts" 143 "error: interrupted by signal 15"
if [ -n "$(ls "$TMPDIR")" ]; then
  echo "FAILED: several interrupts left something behind: $(ls "$TMPDIR")"
  failures=$((failures + 1))
fi

# ---- Closed descriptors, compilers of several words -------------------------------------------------
printf '#!/bin/sh\necho "said to output"; echo "said to error" >&2; exit 1\n' >"$dir/failing"
chmod +x "$dir/failing"
CXX=$dir/failing "$tilepost" verify "$dir/small.yaml" --no-cache --keep "$dir/closed" <&- >"$dir/out" 2>&1
status=$?
expect "standard input is closed" 1 "said to output" "said to error" "the compiler ended with exit status 1"
CXX=$dir/failing "$tilepost" verify "$dir/small.yaml" --no-cache --keep "$dir/closed" <&- >&- 2>"$dir/out"
status=$?
expect "input and output are closed" 3 "said to output" "error: cannot write to standard output"
run env CXX="$dir/failing -O0 '-Dblank=a b'" "$tilepost" verify "$dir/small.yaml" --no-cache --keep "$dir/closed"
expect "a compiler of several words" 1 "$dir/failing -O0 -Dblank=a b -std=c++20"

[ "$failures" -eq 0 ] && echo "PASS: verify from outside"
exit $((failures > 0))
