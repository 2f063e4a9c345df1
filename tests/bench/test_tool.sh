#!/usr/bin/env bash
# `tilepost bench` from outside: what it refuses, and, with stand-ins for driver, compiler and harness,
# what it makes of a harness's records. Usage: test_tool.sh <tilepost>
set -u
tool=$(readlink -f "$1")
shapes=$(cd "$(dirname "$0")/shapes" && pwd)
. "$(dirname "$0")/stand_ins.sh"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0

# expect CODE 'text in the output' command…
expect() {
  local code=$1 text=$2
  shift 2
  timeout 60 "$@" >out 2>&1 </dev/null
  local got=$?
  if [ "$got" = "$code" ] && { [ -z "$text" ] || grep -qF -- "$text" out; }; then return; fi
  echo "FAIL: exit $got, expected $code and '$text': ${*//$tool/tilepost}"
  sed 's/^/  /' out | head -8
  failures=$((failures + 1))
}

spec=$shapes/gemm.yaml
expect 2 "no spec given" "$tool" bench
expect 2 "--shape takes MxNxK, three positive numbers, got '4096'" "$tool" bench "$spec" --shape 4096
expect 2 "--mode is cool, sustained or both, got 'hot'" "$tool" bench "$spec" --mode hot
expect 2 "--load is one of random, even, one_expert, one_rank, got 'hot'" "$tool" bench "$spec" --load hot
expect 2 "--rounds must be from 1 to 100000, got 0" "$tool" bench "$spec" --rounds 0
expect 3 "cannot read 'none.yaml'" "$tool" bench none.yaml
expect 1 "gemm.k" "$tool" bench "$spec" -D gemm.k=0
expect 1 "with gemm.k=0" "$tool" bench "$spec" --sweep gemm.k=0
expect 0 "--shape" "$tool" bench --help
for file in "$shapes"/*.yaml; do expect 0 "" "$tool" check "$file"; done

# The script by itself, whether there is PyTorch or not.
script=$(cd "$shapes/../../.." && pwd)/runtime/bench/async_tp.py
expect 2 "a shape is MxNxK, three positive numbers, got '1x2'" python3 "$script" --ranks 2 --shapes 1x2
expect 2 "must be a positive number, got '0'" python3 "$script" --ranks 0 --shapes 1x2x3
expect 2 "--patterns takes gemm_reduce_scatter, all_gather_gemm, gemm_all_reduce, got 'gemm'" \
  python3 "$script" --ranks 2 --shapes 8x8x8 --patterns gemm
expect 77 "cannot measure: " env CUDA_VISIBLE_DEVICES= python3 "$script" --ranks 2 --shapes 8x8x8

if [ -e /dev/nvidia0 ]; then
  echo "skipped here: what happens without a GPU"
else
  expect 1 "error: cannot measure: this machine has no GPU (" "$tool" bench "$spec" --json never.json
  [ ! -e never.json ] || { echo "FAIL: JSON of nothing"; failures=$((failures + 1)); }
fi

# ---- Stand-ins: a driver that shows $GPUS GPUs, a compiler whose harness prints $RECORDS ----------------
mkdir fake
cat >fake/harness <<'SH'
#!/bin/sh
echo "$@" >"$RECORDS/arguments"
cat "$RECORDS/records"
exit $(cat "$RECORDS/status")
SH
if ! make_stand_ins; then
  echo "skipped here: there is no C compiler for the stand-ins"
  [ "$failures" = 0 ]
  exit
fi
export RECORDS=$dir GPUS=1

# with CODE 'text' <program of the recorded log> <status of the harness> <flag>…
with() {
  local code=$1 text=$2 program=$3
  echo "$4" >status
  shift 4
  sed "s/\"$program\"/\"$(basename "$spec" .yaml)\"/" "$log" >records
  expect "$code" "$text" "${stand_ins[@]}" "$tool" bench "$spec" "$@"
}

log=$(cd "$(dirname "$shapes")" && pwd)/recorded.log
with 0 " 0     100.0     1374" fine 0 --rounds 7 --seed 3 --mode cool --json results/bench.json --keep kept
grep -q -- "--seed 3 --rounds 7 --mode cool" arguments || { echo "FAIL: flags: $(cat arguments)"; failures=1; }
python3 -m json.tool results/bench.json >/dev/null || { echo "FAIL: JSON"; failures=$((failures + 1)); }
[ -e kept/programs/plain_0.cu ] && [ -e kept/programs/gemm.cu ] || { echo "FAIL: nothing kept"; failures=1; }
# Experts have no un-woven kernel, and twice the columns of gate and up.
plain_spec=$spec spec=$shapes/experts.yaml
with 0 " 0     100.0      258" fine 0 --load even --keep experts
grep -q -- "--load even" arguments || { echo "FAIL: flags: $(cat arguments)"; failures=$((failures + 1)); }
[ ! -e experts/programs/plain_0.cu ] || { echo "FAIL: an un-woven kernel of experts"; failures=$((failures + 1)); }
with 1 "experts are measured with inputs of bf16 or f16, without scales and bias" fine 0 \
  -D 'gemm.epilogue=[bias, swiglu]'
# Sums of tokens are measured from end to end, and of a layer both halves.
spec=$shapes/sums.yaml GPUS=2
with 0 " 89.0     133.5     60.0     30.0   1.500" combine 0 --load one_rank --json sums.json
grep -q -- "--load one_rank" arguments || { echo "FAIL: flags: $(cat arguments)"; failures=$((failures + 1)); }
grep -q '"variant": "sequence"' sums.json || { echo "FAIL: no check of the sequence"; failures=$((failures + 1)); }
with 1 "3 of 1024 elements of 'sequence' differ from reference" combine_wrong 1
with 1 "sums of tokens without an epilogue" combine 0 -D 'gemm.epilogue=[residual]'
with 1 "layer_first" combine 0 -D pattern=moe -D name=layer --keep layer
[ -e layer/programs/layer_first.cu ] && [ -e layer/programs/layer_second.cu ] ||
  { echo "FAIL: not both halves of a layer"; failures=$((failures + 1)); }
GPUS=1
spec=$plain_spec
grep -q '"lent_output": false' results/bench.json || { echo "FAIL: lent_output unasked"; failures=$((failures + 1)); }
# What a harness printed elsewhere becomes the same table and JSON.
sed 's/"fine"/"gemm"/' "$log" >elsewhere.jsonl
expect 0 " 0     100.0     1374" "$tool" bench "$shapes/gemm.yaml" --from elsewhere.jsonl --mode cool --json again.json
python3 -m json.tool again.json >/dev/null || { echo "FAIL: JSON of records"; failures=$((failures + 1)); }
expect 1 "cannot read 'nothing.jsonl'" "$tool" bench "$shapes/gemm.yaml" --from nothing.jsonl
expect 1 "has no measurements of these specs" "$tool" bench "$shapes/reduce_scatter.yaml" --from elsewhere.jsonl
expect 2 "--from measures nothing: leave --no-run and --torch out" \
  "$tool" bench "$shapes/gemm.yaml" --from elsewhere.jsonl --no-run --keep kept
with 0 "" fine 0 --mode cool --svg drawn/bench.svg
python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' drawn/bench.svg ||
  { echo "FAIL: the picture is not XML"; failures=$((failures + 1)); }
grep -q ">1.02x<" drawn/bench.svg || { echo "FAIL: the picture lacks the ratio"; failures=$((failures + 1)); }
[ "$(ls drawn)" = bench.svg ] || { echo "FAIL: left beside the picture: $(ls drawn)"; failures=$((failures + 1)); }
# A picture that cannot be written is told before anything is measured.
touch plain_file && rm -f arguments
with 3 "cannot write 'plain_file/a.svg': Not a directory" fine 0 --svg plain_file/a.svg
with 3 "it is not a regular file" fine 0 --svg drawn
cp "$spec" gemm.yaml
plain_spec=$spec spec=gemm.yaml
with 3 "--svg is './gemm.yaml', which is the spec" fine 0 --svg ./gemm.yaml
spec=$plain_spec
cmp -s gemm.yaml "$spec" || { echo "FAIL: a picture replaced the spec"; failures=$((failures + 1)); }
[ ! -e arguments ] || { echo "FAIL: measured for a picture that cannot be written"; failures=$((failures + 1)); }
with 2 "--svg needs a file" fine 0 --svg=
with 2 "--svg takes a file: bench prints its table" fine 0 --svg -
with 2 "--svg and --json are both 'x'" fine 0 --svg x --json x
with 2 "--no-run measures nothing that --svg could show" fine 0 --no-run --keep kept --svg x
with 0 "" fine 0 --lent-output --json own.json
grep -q -- "--lent-output" arguments || { echo "FAIL: flags: $(cat arguments)"; failures=$((failures + 1)); }
with 0 "" fine 0 --registered --json registered.json
grep -q -- "--registered" arguments || { echo "FAIL: flags: $(cat arguments)"; failures=$((failures + 1)); }
grep -q '"registered": true' registered.json || { echo "FAIL: registered is not told"; failures=$((failures + 1)); }
with 2 "--lent-output and --registered contradict each other" fine 0 --registered --lent-output
grep -q '"lent_output": true' own.json || { echo "FAIL: lent_output is not told"; failures=$((failures + 1)); }
with 1 "17 of 16384 elements of 'ours' differ from cublaslt" wrong 1
with 1 "# FAIL: 1 of 1 point not measured" wrong 0
with 1 "cudaMalloc: out of" broken 1
with 1 "the harness ended early with exit status 3" hangs 3
with 1 "no time: the harness ended before" hangs 0

# ---- PyTorch: a stand-in for Python that writes what the script would -------------------------------
cat >fake/bin/python <<'SH'
#!/bin/sh
echo "$@" >"$RECORDS/asked"
[ -e "$1" ] || { echo "error: no script"; exit 1; }
while [ "$1" != --json ]; do shift; done
[ -e "$RECORDS/torch" ] || { echo "cannot measure: no PyTorch here"; exit 77; }
cp "$RECORDS/torch" "$2"
SH
chmod +x fake/bin/python
plain_spec=$spec spec=$shapes/reduce_scatter.yaml GPUS=4
echo '{"torch": "2.11.0", "nccl": "2.28.9", "points": [{"pattern": "gemm_reduce_scatter", "m": 8192, "n": 8192,
  "k": 2048, "wrong": 0, "failure": "", "us": {"fused": [88, 88], "sequence": [110, 110]}}]}' >torch
with 0 " 88.0    1.250     1.100" ends 0 --torch "$dir/fake/bin/python" --rounds 9
grep -q -- "--ranks 4 --shapes 8192x8192x2048 --patterns gemm_reduce_scatter --dtype bf16 --rounds 9" asked ||
  { echo "FAIL: PyTorch's flags: $(cat asked)"; failures=$((failures + 1)); }
with 0 "# PyTorch 2.11.0, NCCL 2.28.9" ends 0 --torch "$dir/fake/bin/python"
rm torch
with 0 "PyTorch: no time: cannot measure: no PyTorch here (exit status 77)" ends 0 --torch "$dir/fake/bin/python"
with 0 "PyTorch: no time: " ends 0 --torch "$dir/no/python"
spec=$plain_spec GPUS=1
rm fake/lib/libcublasLt.so
if [ ! -e /usr/local/cuda/lib64/libcublasLt.so ]; then
  with 1 "there is no libcublasLt.so" fine 0
fi

[ "$failures" = 0 ] && echo "PASS" || echo "$failures failures"
[ "$failures" = 0 ]
