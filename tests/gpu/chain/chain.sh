#!/usr/bin/env bash
# Measures the chain of a ReduceScatter with a norm and an AllGather in fp8 on two GPUs (chain.cpp).
#
#   chain.sh make TILEPOST OUT   generates the programs of SHAPES, and compiles the driver where there is nvcc
#   chain.sh run OUT [FLAG …]    measures; flags are those of chain
#
# SHAPES: NAME:ROWSxHIDDENxKxN, where K is a rank's part of the first GEMM and N its part of the second one.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
# The output of attention and the MLP behind it: DeepSeek-V3's first layers, Qwen3-32B, Qwen3-8B.
shapes=${SHAPES:-deepseek_v3:4096x7168x8192x18432 qwen3_32b:2048x5120x4096x25600 qwen3_8b:8192x4096x2048x12288
  qwen3_8b_few:512x4096x2048x12288}

# program NAME SPEC FLAG …
program() {
  "$tool" generate "$here/$2.yaml" --name "$1" -o "$out/generated" "${@:3}"
}

case ${1:-} in
  make)
    [ $# = 3 ] || { sed -n '2,8p' "$0" >&2; exit 2; }
    tool=$(readlink -f "$2") out=$3
    mkdir -p "$out/generated"
    for shape in $shapes; do
      name=${shape%%:*} sizes=${shape#*:}
      IFS=x read -r m hidden k n <<<"$sizes"
      down=(-D "gemm.m=$m" -D "gemm.n=$hidden" -D "gemm.k=$k")
      up=(-D "gemm.m=$m" -D "gemm.n=$n" -D "gemm.k=$hidden")
      program "down8_$name" down "${down[@]}"
      program "down16_$name" down "${down[@]}" -D gemm.out=bf16
      program "up_$name" up "${up[@]}"
      program "alone_$name" up "${up[@]}" -D pattern=gemm
    done
    cmake -S "$root/tests/gpu" -B "$out/build" -DTILEPOST_GENERATED_DIR="$(cd "$out/generated" && pwd)" \
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=90a
    cmake --build "$out/build" --target gpu_chain -j "${JOBS:-2}"
    ;;
  run)
    [ $# -ge 2 ] || { sed -n '2,8p' "$0" >&2; exit 2; }
    "$2/build/chain" "${@:3}"
    ;;
  *)
    sed -n '2,8p' "$0" >&2
    exit 2
    ;;
esac
