#!/usr/bin/env bash
# `tilepost tune` on GPUs: a small operation is tuned within its time, and the plan that won is found again by `bench`.
# Usage: test_gpu.sh <tilepost>
set -u
tool=$(readlink -f "$1")
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
if [ "$gpus" -lt 2 ]; then
  echo "skipped here: 2 GPUs are needed, this machine has $gpus"
  exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
# The profile whose GPUs are these: what `list machines` calls it, or TILEPOST_MACHINE.
chip=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)
machine=${TILEPOST_MACHINE:-}
if [ -z "$machine" ]; then
  for known in h200 h100; do
    case $chip in *"${known^^}"*) "$tool" list machine --machine $known >/dev/null 2>&1 && machine=$known ;; esac
  done
fi
[ -n "$machine" ] || {
  echo "skipped here: no profile is known for '$chip'; name one in TILEPOST_MACHINE"
  exit 77
}
cat >layer.yaml <<'Y'
tilepost: 1
name: layer
pattern: gemm_reduce_scatter
ranks: 2
arch: sm_90a
gemm: {m: 4096, n: 4096, k: 4096, a: bf16}
Y
failures=0
fail() {
  echo "FAIL: $1"
  failures=$((failures + 1))
}
begin=$SECONDS
"$tool" tune layer.yaml --machine "$machine" --candidates 6 -o t.yaml || fail "tune"
echo "# tune took $((SECONDS - begin)) s, compilers and runtime included"
"$tool" check layer.yaml --machine "$machine" --tuning t.yaml --werror || fail "the entry is not used"
"$tool" explain layer.yaml --machine "$machine" --tuning t.yaml | grep "chosen by tuning file" || fail "explain"
begin=$SECONDS
"$tool" tune layer.yaml --machine "$machine" --candidates 6 -o t.yaml || fail "tune again"
[ $((SECONDS - begin)) -lt 10 ] || fail "what the file has was measured again"
"$tool" bench layer.yaml --machine "$machine" --tuning t.yaml --mode cool --rounds 20 || fail "bench --tuning"
"$tool" verify layer.yaml --machine "$machine" --tuning t.yaml || fail "verify --tuning"
[ "$failures" = 0 ] && echo "PASS" || echo "$failures failures"
[ "$failures" = 0 ]
