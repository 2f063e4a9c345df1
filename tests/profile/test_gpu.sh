#!/usr/bin/env bash
# `tilepost profile` on GPUs: within five minutes, stopped and resumed, and what it writes is read.
# Usage: test_gpu.sh <tilepost>; 77 where there is no GPU.
set -u
export NCCL_NVLS_ENABLE=0 # a program that hangs in NVLink multicast can take a host's GPUs with it
tool=$(readlink -f "$1")
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() {
  echo "FAIL: $1"
  sed 's/^/  /' out | tail -40
  failures=$((failures + 1))
}

# Stopped after a minute, then resumed.
timeout --foreground -s INT 60 "$tool" profile -o mine.yaml --measurements mine.jsonl --cache "$dir/cache" >out 2>&1 </dev/null
status=$?
if grep -qE "this machine has no GPU|there is no (nvcc|NCCL|libcublasLt)|are not free" out; then
  echo "skipped: $(grep -o 'cannot measure.*' out)"
  exit 77
fi
if [ ! -e mine.yaml ]; then
  [ "$status" = 124 ] || [ "$status" = 130 ] || fail "stopped: exit $status"
  SECONDS=0
  timeout 600 "$tool" profile -o mine.yaml --measurements mine.jsonl --cache "$dir/cache" >out 2>&1 </dev/null || fail "resumed: exit $?"
  echo "resumed: $SECONDS s"
fi
[ -e mine.yaml ] || fail "no profile"
"$tool" explain "$here/../bench/shapes/gemm.yaml" --machine mine.yaml >out 2>&1 || fail "the profile is not read"
SECONDS=0
timeout 600 "$tool" profile -o whole.yaml --no-cache >out 2>&1 </dev/null || fail "in one go: exit $?"
echo "in one go, compilers included: $SECONDS s"
[ "$SECONDS" -le 300 ] || fail "a profile takes $SECONDS s"
cat out
[ "$failures" = 0 ]
