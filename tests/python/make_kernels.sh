#!/usr/bin/env bash
# The kernels that the tests of the Python package run. Usage: make_kernels.sh <tilepost> <folder>
set -euo pipefail
tool=$1 folder=$2
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
kernels() { "$tool" catalogue "$spec" -o "$folder" "$@"; }
equal_shares=(--sweep 'pattern=gemm_all_reduce,gemm_reduce_scatter,all_gather_gemm')
kernels "${equal_shares[@]}" --sweep gemm.a=bf16,f16 --sweep gemm.layout=tn,nn --sweep 'gemm.epilogue=[],[bias]'
kernels "${equal_shares[@]}" -D gemm.a=e4m3 -D 'gemm.epilogue=[scale]'
kernels "${equal_shares[@]}" -D gemm.a=e4m3 -D 'gemm.epilogue=[scale_rows, scale_columns]'
kernels --sweep pattern=gemm_all_to_all,all_to_all_gemm -D routing=rows --sweep gemm.layout=tn,nn
kernels -D pattern=dispatch_grouped_gemm -D gemm.experts=8 -D gemm.top=2 --sweep 'gemm.epilogue=[swiglu],[bilinear]'
kernels -D pattern=grouped_gemm_combine -D gemm.experts=8 -D gemm.top=2
kernels -D pattern=moe -D gemm.experts=8 -D gemm.top=2 --sweep 'gemm.epilogue=[swiglu],[bilinear]'
grouped=(-D pattern=grouped_gemm -D ranks=1 -D gemm.experts=4)
kernels "${grouped[@]}" --sweep 'gemm.epilogue=[],[swiglu]'
kernels "${grouped[@]}" -D gemm.a=e4m3 \
  --sweep 'gemm.epilogue=[scale_rows, scale_columns],[scale_rows, scale_columns, swiglu]'
gemm=(-D pattern=gemm -D ranks=1 -D gemm.a=e4m3)
kernels "${gemm[@]}" -D gemm.scales=blocks
kernels "${gemm[@]}" -D 'gemm.epilogue=[scale]'
