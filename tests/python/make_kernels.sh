#!/usr/bin/env bash
# The kernels that the tests of the Python package run. Usage: make_kernels.sh <tilepost> <folder>
set -euo pipefail
spec=$(mktemp --suffix=.yaml)
trap 'rm -f "$spec"' EXIT
cat >"$spec" <<'YAML'
tilepost: 1
name: kernel
pattern: gemm_all_reduce
ranks: 2
gemm: {m: {max: 64}, n: 64, k: 64, a: bf16}
arch: host
schedule: {tile: [64, 64]}
YAML
"$1" catalogue "$spec" --sweep pattern=gemm_all_reduce,gemm_reduce_scatter,all_gather_gemm --sweep gemm.a=bf16,f16 \
  --sweep gemm.layout=tn,nn --sweep 'gemm.epilogue=[],[bias]' -o "$2"
