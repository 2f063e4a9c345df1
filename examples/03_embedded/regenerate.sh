#!/usr/bin/env bash
# Renews generated/ from attn_out.yaml: the one step that needs the generator.
# Usage: regenerate.sh [FOLDER], default generated/ beside this script. Needs tilepost on PATH.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/generated}
tilepost generate "$here/attn_out.yaml" -o "$out/host"
# The same layer at full size, for two generations of GPUs in one file.
tilepost generate "$here/attn_out.yaml" --arch sm_80,sm_90a \
  -D gemm.m=8192 -D gemm.n=8192 -D gemm.k=2048 -o "$out/cuda"
