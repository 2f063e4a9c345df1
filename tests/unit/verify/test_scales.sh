#!/bin/bash
# `tilepost verify` finds wrong scales of blocks where the scales of A move with its rows.
# Usage: test_scales.sh <tilepost> <spec>
#
# The kernel of the host target is made wrong in its header, one way after the other, and compiled again.
set -u
tilepost=$(realpath "$1") spec=$(realpath "$2")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
. "$(dirname "$0")/mutants.sh"

"$tilepost" verify "$spec" --target host --runs 2 --keep "$dir/kept" -D pattern=all_gather_gemm -D ranks=3 \
  -D gemm.a=e4m3 -D gemm.scales=blocks -D gemm.m=100 -D gemm.n=272 -D gemm.k=400 -D 'schedule.tile=[48, 80]' \
  --sweep transport=nccl,copy_engine,peer,peer_tiles >"$dir/out" 2>&1 ||
  { fail "what is right passes"; cat "$dir/out"; exit 1; }

# wrong <name> <text> <replacement>: as mutant, of all transports. exchanged: of kernels that exchange rows.
wrong() { mutant kept host/block_scales.h 4 "$@"; }
exchanged() { mutant kept host/exchange.h 1 "$@"; }

block='const int block = first_k / TILEPOST_SCALE_BLOCK;'
wrong "the scale of the next group" "$block" \
  'const int block = (first_k / TILEPOST_SCALE_BLOCK + 1) % static_cast<int>(scale_blocks(shape.k));'
wrong "products promoted late" "$block" 'const int block = first_k / (2 * TILEPOST_SCALE_BLOCK) * 2;'
wrong "the scale of the wrong row" 'scale_a[(tile.m + row) * a.row' \
  'scale_a[(tile.m + (rows - 1 - row)) * a.row'
wrong "the scale of a row by its place on its own rank" 'scale_a[(tile.m + row) * a.row' \
  'scale_a[(tile.m + row) % ((shape.m + 2) / 3) * a.row'
wrong "the scale of the wrong block of columns" '(tile.n + column) / TILEPOST_SCALE_BLOCK' \
  'tile.n / TILEPOST_SCALE_BLOCK'
exchanged "rows that travel without scales" 'if (scales != nullptr) store_scales' 'if (scales == nullptr) store_scales'
exchanged "scales in the order from the last one" 'to[i] = scales[i];' \
  'to[i] = scales[2 * own + some.first + some.end - 1 - i];'
exchanged "scales without those of the last part" 'if (scales != nullptr) store_scales' \
  'if (scales != nullptr && part + 1 < rows.parts_of(units)) store_scales'
exchanged "scales of the run before" 'return scales_on(view, view.exchange.rank, run_of(view.exchange));' \
  'return scales_on(view, view.exchange.rank, run_of(view.exchange) + 1);'
[ "$failures" = 0 ]
