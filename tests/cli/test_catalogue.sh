#!/usr/bin/env bash
# `tilepost catalogue`: what it writes, what it keeps, what it refuses. Usage: test_catalogue.sh host|gpu|few <tilepost>
# few: the kernels of the Python package for sm_90a, which take minutes.
set -euo pipefail
case=$1
tool=$(readlink -f "$2")
specs=$(cd "$(dirname "$0")/../specs" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
fail() {
  echo "FAIL: $*"
  for text in out err; do [ ! -s $text ] || sed "s/^/  $text: /" $text | head -8; done
  exit 1
}

# expect CODE 'text in standard output or error' argument…
expect() {
  local code=$1 text=$2 got=0
  shift 2
  "$tool" catalogue "$@" >out 2>err </dev/null || got=$?
  [ "$got" = "$code" ] || fail "exit $got, expected $code: catalogue $*"
  grep -qF -- "$text" out err || [ -z "$text" ] || fail "no '$text': catalogue $*"
}
count() { find "$1" -name "$2" | wc -l; }

# keys_agree FOLDER: the manifest is JSON, its files are there, and there are no others.
keys_agree() {
  python3 - "$1" <<'CODE'
import json, pathlib, sys
folder = pathlib.Path(sys.argv[1])
manifest = json.loads((folder / "catalogue.json").read_text(encoding="ascii"))
assert manifest["tilepost_catalogue"] == 1 and manifest["version"] and manifest["abi"] > 0
kernels = manifest["kernels"]
assert len({kernel["key"] for kernel in kernels}) == len(kernels) > 0
named = {kernel["file"] for kernel in kernels}
there = {path.name for path in folder.iterdir()} - {"catalogue.json"}
assert named == there, named ^ there
CODE
}

if [ "$case" = few ]; then
  begin=$SECONDS
  "$tool" catalogue --arch sm_90a --most 200 -o few 2>log || { tail -5 log; fail "the catalogue of few kernels"; }
  keys_agree few
  kernels=$(grep -c '"key"' few/catalogue.json) bytes=$(du -sb few | cut -f1)
  echo "# $kernels kernels of $bytes bytes in $((SECONDS - begin)) s"
  [ "$kernels" -gt 80 ] && [ "$kernels" -le 200 ] || fail "$kernels kernels"
  [ "$bytes" -le 40000000 ] || fail "$bytes bytes are more than 40 MB"
  # Every pattern and type of the usual layers has a kernel. Kernels serve any number of ranks but those that sum in
  # their epilogue, which plans have on two.
  for part in DType::bf16 DType::f16 DType::e4m3 kRouted; do grep -q "$part" few/catalogue.json || fail "no $part"; done
  grep -q "kOthers = 1" few/catalogue.json || fail "none that sums on two ranks"
  for n in 4096 8192; do grep -q "kNorm = 3, kN = $n" few/catalogue.json || fail "no norm of few rows of $n"; done
  echo PASS
  exit 0
fi

if [ "$case" = gpu ]; then
  # Kernels for many rows and for few, for both kinds of architectures: each cubin has one kernel.
  "$tool" catalogue "$specs/ar_sm90.yaml" -o one --dry-run >keys
  [ "$(wc -l <keys)" = 1 ] || fail "$(cat keys)"
  expect 0 "4 kernels of these plans are in gpus, 4 of them new" "$specs/ar_sm90.yaml" --sweep gemm.m=64,8192 \
    --arch sm_80,sm_90a -o gpus
  keys_agree gpus
  for cubin in gpus/*.cubin; do
    kernels=$(readelf -SW "$cubin" 2>/dev/null | grep -c ' \.nv\.constant0\.' || true)
    [ "$kernels" = 1 ] || fail "$cubin has $kernels kernels"
  done
  # A kernel's file says what is in it, so nothing is compiled again.
  CUDACXX=$dir/none expect 0 "0 of them new" "$specs/ar_sm90.yaml" --sweep gemm.m=64,8192 --arch sm_80,sm_90a -o gpus
  # BAND is no part of a key: the same kernel with another one is the same machine code.
  "$tool" weave "$specs/ar_sm90.yaml" -o band.cu
  sed 's/constexpr int kBand = [0-9]*;/constexpr int kBand = 4;/' band.cu >other_band.cu
  cmp -s band.cu other_band.cu && fail "no other band"
  for source in band other_band; do
    "${CUDACXX:-nvcc}" -std=c++20 -cubin -gencode arch=compute_90a,code=sm_90a "-I$specs/../../include" $source.cu -o $source.cubin
  done
  cmp band.cubin other_band.cubin || fail "a woven kernel depends on BAND"
  CUDACXX=$dir/none expect 1 "cannot compile kernels for sm_90a: looked for nvcc" "$specs/ar_sm90.yaml" -o other
  [ ! -e other ] || fail "a catalogue without kernels"
  echo PASS
  exit 0
fi

echo "# usage"
expect 2 "catalogue writes many files: name a folder with -o" "$specs/ar_host.yaml"
expect 2 "--pattern is for the usual layers" "$specs/ar_host.yaml" -o x --pattern gemm
expect 2 "--shape and --sweep vary a spec: name one" -o x --sweep ranks=2
expect 2 "--pattern: 'gemm_all_redcue' is unknown, did you mean 'gemm_all_reduce'?" -o x --pattern gemm_all_redcue
expect 2 "--arch: 'sm_70' is unknown" -o x --arch 70
expect 2 "--most must not be negative, got -1" -o x --most -1
expect 1 "none of the usual layers can be planned so" -o x --arch host --pattern gemm_all_reduce -D gemm.k=0
expect 3 "none.yaml" none.yaml -o x
expect 1 "gemm.k must be a whole number" "$specs/ar_host.yaml" -D gemm.k=0 -o x
[ ! -e x ] || fail "a catalogue of nothing"

echo "# kernels of specs"
expect 0 "1 kernels of these plans are in host, 1 of them new" "$specs/ar_host.yaml" -o host
keys_agree host
expect 0 "1 kernels of these plans are in host, 0 of them new" "$specs/ar_host.yaml" -D gemm.m=500 -D gemm.k=9 -o host
expect 0 "1 of them new" "$specs/ar_host.yaml" -D gemm.a=f16 -o host
keys_agree host
[ "$(count host '*.so')" = 2 ] || fail "$(ls host)"
CXX=$dir/none expect 1 "cannot compile kernels for host: looked for '$dir/none' (from CXX)" "$specs/ar_host.yaml" \
  -D gemm.layout=nn -o host
keys_agree host
[ "$(count host '*.so')" = 2 ] || fail "an error changed the catalogue"

echo "# another version's manifest is not continued"
sed -i 's/"abi": [0-9]*/"abi": 1/' host/catalogue.json
expect 0 "0 of them new" "$specs/ar_host.yaml" -o host
[ "$(grep -c '"key"' host/catalogue.json)" = 1 ] || fail "keys of another version"

echo "# the usual layers"
expect 0 "" --arch host --pattern gemm_all_reduce,gemm_reduce_scatter -D ranks=2 --dry-run
[ "$(sort -u out | wc -l)" -ge 4 ] || fail "$(cat out)"
expect 0 "sm_80 gemm_sm80.cu:gemm_sm80 " --arch 80 --pattern gemm_all_reduce -D ranks=2 -D gemm.m=4096 --dry-run
expect 0 "kNorm = 3, kN = 8192" --arch sm_90a --pattern gemm_all_reduce -D ranks=2 -D gemm.m=64 -D gemm.a=bf16 --dry-run
echo PASS
