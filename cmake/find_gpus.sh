#!/usr/bin/env bash
# Prints how many GPUs this machine has and the spec's name of their architecture: "4 sm_90a". "0 -"
# without GPUs or driver; the architecture is "-" where tilepost generates for none like it.
set -euo pipefail

capabilities=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null) || capabilities=
[ -n "$capabilities" ] || { echo "0 -"; exit 0; }
count=$(printf '%s\n' "$capabilities" | wc -l)
case $(printf '%s\n' "$capabilities" | sort -uV | head -1) in
  9.0) arch=sm_90a ;;
  8.0) arch=sm_80 ;;
  8.6) arch=sm_86 ;;
  8.9) arch=sm_89 ;;
  *) arch=- ;;
esac
echo "$count $arch"
