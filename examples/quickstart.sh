#!/usr/bin/env bash
# From a fresh machine to a verified run: installs what is missing, builds the tool, generates code
# from quickstart.yaml and runs it on every rank against an independent reference: on the GPUs if two
# or more are there, else on the host target with four ranks. The tool carries the runtime's sources
# and compiles them for this run, so the runtime's libraries are not built.
#
# Usage: bash examples/quickstart.sh
set -euo pipefail

cd "$(dirname "$0")/.."
started=$SECONDS
spec=examples/quickstart.yaml
out=build/quickstart
stage="starting"

on_exit() {
  local status=$?
  [ $status -eq 0 ] && return
  echo
  echo "FAIL: quickstart stopped while $stage (exit $status)"
  echo "The last lines above say why. Started again, it goes on from what is built."
}
trap on_exit EXIT

step() {
  stage=$1
  printf '\n== %s (%d s)\n' "$1" $((SECONDS - started))
}

# Runs a command with its output in a log, and shows the log's lines that match, or its end if the
# command fails: show <pattern> <command…>
show() {
  local pattern=$1 status
  shift
  mkdir -p "$out"
  set +e
  "$@" 2>&1 | tee "$out/log" | grep --line-buffered -E -- "$pattern"
  status=${PIPESTATUS[0]}
  set -e
  [ "$status" -eq 0 ] || tail -40 "$out/log"
  return "$status"
}

step "installing packages"
bash cmake/install_packages.sh build

step "building the tool"
show '^-- tilepost|CUDA compiler identification|Found NCCL' cmake --preset release
show '^\[[0-9]*0/|^\[[0-9]+%|Linking CXX exec|no work' cmake --build --preset release -j "$(nproc)" \
  --target tilepost
tool=build/release/bin/tilepost
"$tool" --version

# What there is to run on.
read -r gpus arch < <(bash cmake/find_gpus.sh)
cmake --build --preset release --target help >"$out/targets"
has_cuda=no
grep -q '^tilepost_cuda:' "$out/targets" && has_cuda=yes
left_out=
if [ $has_cuda = no ]; then
  left_out="no CUDA Toolkit 12.8+ or no NCCL here, which the generated CUDA code needs"
elif [ "$gpus" -lt 2 ]; then
  left_out="$gpus GPUs here, two are needed: the generated CUDA code was not run"
elif [ "$arch" = - ]; then
  left_out="GPUs of an architecture tilepost does not generate for: the CUDA code was not run"
fi

step "generating $spec"
"$tool" generate "$spec" -o "$out"
ls -l "$out"/attn_out.* | awk '{print $5, "bytes", $NF}'
"$tool" explain "$spec" | sed -n 1,12p

if [ -z "$left_out" ]; then
  ranks=$((gpus >= 8 ? 8 : gpus >= 4 ? 4 : 2))
  step "running on $ranks GPUs, $arch"
  where="$ranks GPUs" shape="8192 x 8192 x 2048"
  run=(--target cuda --arch "$arch" -D ranks="$ranks")
else
  step "running on the host target, 4 ranks"
  where="4 ranks of the host target" shape="1024 x 1024 x 256"
  run=(--target host --arch host -D gemm.m=1024 -D gemm.n=1024 -D gemm.k=256)
fi
stage="verifying on $where"
"$tool" verify "$spec" "${run[@]}"

echo
[ -z "$left_out" ] || echo "left out: $left_out"
echo "PASS in $((SECONDS - started)) s: gemm_all_reduce $shape bf16 on $where, every element compared" \
  "with a plain GEMM and a plain sum over ranks"
