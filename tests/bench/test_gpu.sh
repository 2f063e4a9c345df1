#!/usr/bin/env bash
# `tilepost bench` on a GPU: rows for what is right, no time for what is wrong.
# Usage: test_gpu.sh <tilepost>; 77 where there is no GPU of compute capability 9.0.
set -u
tool=$(readlink -f "$1")
shapes=$(cd "$(dirname "$0")/shapes" && pwd)
spec=$shapes/gemm.yaml
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

fail() {
  echo "FAIL: $1"
  sed 's/^/  /' out
  failures=$((failures + 1))
}

run() {
  timeout 900 "$@" >out 2>&1 </dev/null
  status=$?
}

run "$tool" bench "$spec" --shape 256x256x256 --mode cool --rounds 3
if grep -qE "this machine has no GPU|this machine's GPUs are|there is no (nvcc|NCCL|libcublasLt)" out; then
  echo "skipped: $(grep -o 'cannot measure.*' out)"
  exit 77
fi
[ "$status" = 0 ] || fail "one small shape: exit $status"
[ "$(grep -c '^cool ' out)" = 1 ] || fail "one shape and mode, but not one row"

run "$tool" bench "$spec" --shape 1000x1032x520 --shape 16x2048x1024 --mode both --rounds 3 \
  --sweep schedule.layout=panel,tile --sweep gemm.a=bf16,f16 --json bench.json
[ "$status" = 0 ] || fail "shapes, layouts, types: exit $status"
[ "$(grep -cE '^(cool|sustained) ' out)" = 16 ] || fail "eight points in two modes, but not 16 rows"
grep -q "geometric mean, sustained" out || fail "no geometric mean"
python3 - <<'PY' || fail "JSON"
import json
points = json.load(open("bench.json"))["points"]
assert len(points) == 8
for point in points:
    assert point["measured"] and point["wrong"] == 0
    assert {check["variant"] for check in point["checks"]} == {"ours", "plain", "cublaslt"}
    for mode in point["modes"]:
        assert mode["us"]["ours"]["n"] == 3 and mode["us"]["ours"]["min"] > 0
PY

run "$tool" bench "$spec" --shape 512x512x512 --mode cool --rounds 3 \
  -D gemm.a=e4m3 -D gemm.b=e4m3 -D gemm.epilogue='[scale, bias]'
[ "$status" = 0 ] || fail "e4m3 with scale and bias: exit $status"
run "$tool" bench "$spec" --shape 1001x1040x512 --mode cool --rounds 3 -D gemm.a=e4m3 -D gemm.scales=blocks
[ "$status" = 0 ] || fail "scales of blocks of 1001 rows: exit $status"
[ "$(grep -c '^cool ' out)" = 1 ] || fail "scales of blocks of 1001 rows: not one row"
grep -q "it computes 1004 rows, ours 1001" out || fail "nothing says with how many rows cuBLASLt computes"
run "$tool" bench "$spec" --shape 512x512x512 --mode cool --rounds 3 --sweep gemm.layout=tn,nn \
  --sweep 'gemm.epilogue=[],[bias],[bias, gelu],[silu],[residual],[bias, residual]'
[ "$status" = 0 ] || fail "epilogues: exit $status"

for load in random one_expert; do
  run "$tool" bench "$shapes/experts.yaml" --mode cool --rounds 3 --load "$load" \
    --sweep 'gemm.epilogue=[],[bilinear],[swiglu]'
  [ "$status" = 0 ] || fail "experts, $load: exit $status"
  [ "$(grep -c '^cool ' out)" = 3 ] || fail "experts, $load: not three rows"
done

# From end to end, where two ranks have a GPU each.
whole() { # rows, spec, flag…
  local rows=$1 name=$2
  shift 2
  run "$tool" bench "$shapes/$name.yaml" -D ranks=2 --mode cool --rounds 3 "$@"
  [ "$status" = 0 ] || fail "$name $*: exit $status"
  for mode in overlap steady; do
    [ "$(grep -c "^$mode " out)" = "$rows" ] || fail "$name $*: not $rows rows of mode $mode"
  done
}
if [ "$(nvidia-smi -L | grep -c '^GPU')" -ge 2 ]; then
  for name in all_reduce reduce_scatter all_gather; do
    whole 4 "$name" --shape 1003x1032x520 --shape 2048x2048x512 --sweep transport=none,nccl
  done
  for name in all_to_all all_to_all_gemm; do
    whole 6 "$name" --shape 1003x1032x520 --sweep transport=none,nccl --sweep routing=even,splits,rows
  done
  for name in all_reduce reduce_scatter all_to_all; do
    whole 2 "$name" --shape 1003x1032x520 -D schedule.layout=tile --sweep consumer=none,unpermute
  done
  for load in random even one_expert one_rank; do
    whole 4 tokens --load "$load" --sweep transport=none,nccl --sweep 'gemm.epilogue=[bilinear],[swiglu]'
    whole 3 sums --load "$load" --sweep transport=none,nccl,peer
  done
  whole 2 tokens -D pattern=moe
else
  echo "skipped here: operations from end to end, for which there are not two GPUs"
fi

# A wrong kernel, made by hand in the kept project: the woven one stores one tile elsewhere.
run "$tool" bench "$spec" --shape 512x512x512 --mode cool --rounds 3 --keep kept
[ "$status" = 0 ] || fail "kept: exit $status"
header=kept/include/tilepost/device/woven.cuh
cp "$header" woven.cuh
sed -i 's/entry.y, entry.z, entry.w/entry.y, entry.z ^ 128, entry.w/' "$header"
if cmp -s "$header" woven.cuh; then
  fail "the fault could not be put in"
else
  run sh kept/build.sh
  run kept/harness --mode cool --rounds 3
  [ "$status" = 1 ] || fail "a wrong result: exit $status"
  grep -q '"sample"' out && fail "a speed for a wrong result"
  grep -qE '"against": "cublaslt".*"wrong": [1-9]' out || fail "no count of wrong elements"
fi

[ "$failures" = 0 ] && echo "PASS" || echo "$failures failures"
[ "$failures" = 0 ]
