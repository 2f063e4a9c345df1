#!/usr/bin/env bash
# Makes bundle/host and bundle/cuda from attn_out.yaml, or renews them: the one step that needs tilepost, on PATH.
# Usage: make_bundles.sh [FOLDER], default bundle/ beside this script.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/bundle}
tilepost generate "$here/attn_out.yaml" --bundle "$out/host"
# The same layer at full size, for two generations of GPUs in one file.
tilepost generate "$here/attn_out.yaml" --name attn_out_cuda --arch sm_80,sm_90a \
  -D gemm.m=8192 -D gemm.n=8192 -D gemm.k=2048 --bundle "$out/cuda"
