#!/bin/bash
# `tilepost verify` finds wrong scales of blocks where the scales of A move with its rows.
# Usage: test_scales.sh <tilepost> <spec>
#
# The kernel of the host target is made wrong in its header, one way after the other, and compiled again.
set -u
tilepost=$(realpath "$1") spec=$(realpath "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

fail() {
  echo "FAILED: $1"
  failures=$((failures + 1))
}

"$tilepost" verify "$spec" --target host --runs 2 --keep "$dir/kept" -D pattern=all_gather_gemm -D ranks=3 \
  -D gemm.a=e4m3 -D gemm.scales=blocks -D gemm.m=100 -D gemm.n=272 -D gemm.k=400 -D 'schedule.tile=[48, 80]' \
  --sweep transport=nccl,copy_engine,peer >"$dir/out" 2>&1 || { fail "what is right passes"; cat "$dir/out"; exit 1; }

header=$dir/kept/include/tilepost/host/block_scales.h
cp "$header" "$dir/right.h"

# mutant <name> <text> <replacement>: the text is one line of the header, which is replaced.
mutant() {
  grep -qF -- "$2" "$dir/right.h" || { fail "$1: block_scales.h has changed, adapt this test"; return; }
  TEXT=$2 NEW=$3 awk '{ at = index($0, ENVIRON["TEXT"])
    if (at) $0 = substr($0, 1, at - 1) ENVIRON["NEW"] substr($0, at + length(ENVIRON["TEXT"]))
    print }' "$dir/right.h" >"$header"
  if ! (cd "$dir/kept" && grep -E -- '^set|unit_0|-o .*/harness ' build.sh | sh) >"$dir/out" 2>&1; then
    fail "$1 does not compile"
    tail -20 "$dir/out"
    return
  fi
  timeout 120 "$dir/kept/harness" --deadline 20 >"$dir/out" 2>&1
  if [ "$(grep -c '^FAIL ' "$dir/out")" = 3 ] && grep -q 'first difference at' "$dir/out"; then
    echo "caught: $1"
  else
    fail "$1 passes"
    cat "$dir/out"
  fi
}

block='const int block = first_k / TILEPOST_SCALE_BLOCK;'
mutant "the scale of the next group" "$block" \
  'const int block = (first_k / TILEPOST_SCALE_BLOCK + 1) % static_cast<int>(scale_blocks(shape.k));'
mutant "products promoted late" "$block" 'const int block = first_k / (2 * TILEPOST_SCALE_BLOCK) * 2;'
mutant "the scale of the wrong row" 'epilogue.scale_a[(tile.m + row) * a.row' \
  'epilogue.scale_a[(tile.m + (rows - 1 - row)) * a.row'
mutant "the scale of a row by its place on its own rank" 'epilogue.scale_a[(tile.m + row) * a.row' \
  'epilogue.scale_a[(tile.m + row) % ((shape.m + 2) / 3) * a.row'
mutant "the scale of the wrong block of columns" '(tile.n + column) / TILEPOST_SCALE_BLOCK' \
  'tile.n / TILEPOST_SCALE_BLOCK'
[ "$failures" = 0 ]
