#!/bin/bash
# `tilepost verify` finds outputs of 8 bits that are quantised wrongly, or with the wrong scales.
# Usage: test_quantised.sh <tilepost> <spec>
#
# The kernel of the host target is made wrong in its headers, one way after the other, and compiled again.
set -u
tilepost=$(realpath "$1") spec=$(realpath "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$(dirname "$0")/mutants.sh"

# right <folder> <flags>…: a program that passes, with scales in both orders.
right() {
  local folder=$1
  shift
  "$tilepost" verify "$spec" --target host --runs 2 --keep "$dir/$folder" -D gemm.out=e4m3 -D ranks=2 -D gemm.m=100 \
    -D gemm.n=272 -D gemm.k=100 --sweep gemm.scales_out=rows,columns "$@" >"$dir/out" 2>&1 ||
    { fail "what is right passes"; cat "$dir/out"; exit 1; }
}
right tiles -D pattern=gemm
right sums -D pattern=gemm_reduce_scatter
right few -D pattern=gemm_reduce_scatter -D transport=peer_tiles

scales=host/block_scales.h
mutant tiles $scales 2 "the scale of the next block" 'const int block = column / TILEPOST_SCALE_BLOCK;' \
  'const int block = (column / TILEPOST_SCALE_BLOCK + 1) % 3;'
mutant tiles $scales 2 "the scale of the wrong row" 'out_scales[row * epilogue' 'out_scales[(row ^ 1) * epilogue'
mutant tiles $scales 2 "the scale of a part of the block" 'for (int i = 0; i < count; ++i) most' \
  'for (int i = 0; i < count - 8; ++i) most'
mutant tiles $scales 2 "a block that is not scaled" 'to_e4m3(element * inverse_of_scale(scale))' 'to_e4m3(element)'
mutant sums numeric.h 2 "parts of a sum that are quantised before it" \
  'const uint32_t bits = __builtin_bit_cast(uint32_t, value);' \
  'const uint32_t bits = __builtin_bit_cast(uint32_t, value) & 0xfff00000u;'
mutant few host/exchange.h 2 "a sum without the last rank's part" 'for (int rank = 1; rank < View::kRanks; ++rank) sum +=' \
  'for (int rank = 1; rank < View::kRanks - 1; ++rank) sum +='
[ "$failures" = 0 ]
