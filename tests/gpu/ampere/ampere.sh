#!/usr/bin/env bash
# Times the kernels of gemm_sm80 beside cuBLASLt on a machine's first GPU, and prints a table in Markdown.
#
#   ampere.sh TILEPOST OUT    compiles into OUT for this machine's GPU, which may be newer than Ampere
#
# Three programs measure the same products. `tilepost bench` times pattern gemm, woven and un-woven, and the kernel of a
# ReduceScatter of two ranks, which raises counters, beside the same kernel un-woven. cublas_ampere.cpp times cuBLASLt,
# with all its kernels and with those of Ampere's design alone. table.py puts their results side by side.
#
# Environment: SHAPES and of these SIGNALS (below), whose signals are timed; ROUNDS (12) of bench, ARCH (sm_80), SMS
# (132) of the GPU.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
[ $# = 2 ] || { sed -n '2,11p' "$0" >&2; exit 2; }
tool=$(readlink -f "$1") out=$2
# Few rows, long K, whole waves, and rows that no tile divides.
shapes=${SHAPES:-16x4096x4096 64x8192x2048 128x4096x7168 256x8192x2048 512x4096x14336 1000x4104x1032 1024x4096x4096
  2048x8192x2048 4096x4096x4096 4096x8192x8192 8192x8192x2048 4096x4096x28672}
signals=${SIGNALS:-64x8192x2048 512x4096x14336 1024x4096x4096 2048x8192x2048 8192x8192x2048 4096x4096x28672}
mkdir -p "$out"
export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0} # with two GPUs bench would also run the ReduceScatter

# bench PATTERN FLAG …: `tilepost bench` of the pattern at its shapes.
bench() {
  local given=(-D "schedule.sms=${SMS:-132}") measured=$shapes shape
  [ "$1" = gemm ] || given+=(-D ranks=2 -D transport=nccl) measured=$signals
  for shape in $measured; do given+=(--shape "$shape"); done
  "$tool" bench "$root/tests/bench/shapes/$1.yaml" --arch "${ARCH:-sm_80}" "${given[@]}" --mode cool \
    --rounds "${ROUNDS:-12}" "${@:2}"
}

nvcc -O3 -std=c++20 -I "$root/include" -I "$root" "$here/cublas_ampere.cpp" \
  "$root/runtime/bench/gemm/kernel_names.cpp" -o "$out/cublas_ampere" -lcublasLt
for pattern in gemm reduce_scatter; do bench $pattern --json "$out/$pattern.json"; done
# shellcheck disable=SC2086 # shapes are words
"$out/cublas_ampere" $shapes | tee "$out/cublas.txt"
python3 "$here/table.py" "$out/gemm.json" "$out/reduce_scatter.json" "$out/cublas.txt"
