#!/usr/bin/env bash
# Runs the example and the benchmarks of tilepost.torch on tiny shapes, and the benchmarks as they run without GPUs,
# where they measure nothing and say so.
# Usage: bench.sh <repository>
set -euo pipefail
python=${TILEPOST_TORCH_PYTHON:-python3}
"$python" -c 'import torch, transformers' 2>/dev/null ||
  { echo "skipped: no torch and transformers in $python; set TILEPOST_TORCH_PYTHON"; exit 77; }
export CUDA_VISIBLE_DEVICES=
cd "$1/python/bench"

# expect <text> <program> <argument>…: the program succeeds and prints the text.
expect() {
  local text=$1 out
  shift
  out=$("$python" "$@" --host --catalogue "$TILEPOST_TEST_CATALOGUE" 2>&1) || { echo "$*: $out"; exit 1; }
  grep -qF -- "$text" <<<"$out" || { echo "$*: no '$text' in: $out"; exit 1; }
}

expect '| tiny | 128 | eager |' layer.py
expect '| tiny | 128 | train |' layer.py --train
expect '| decoding 2 sequences |' model.py
expect 'a step of training: loss' "$1/examples/07_pytorch/llama.py"
for program in layer.py model.py; do
  status=0
  out=$("$python" "$program" 2>&1) || status=$?
  if [ "$status" != 1 ] || ! grep -q 'no GPU here, so nothing is measured' <<<"$out"; then
    echo "$program without a GPU: status $status, $out"
    exit 1
  fi
done
