#!/usr/bin/env bash
# Kernels woven wrongly on purpose. The audit of `tilepost verify` has to find each error and report its place.
# Usage: woven_wrongly.sh make DIR…  makes DIR/wrong_NAME for every lie. DIR is what `tilepost verify --keep DIR` left
#                           of one kernel of the user's own, built for the CPU or for GPUs.
#        woven_wrongly.sh run DIR…   runs the programs wrong_NAME, which may need a GPU
#        woven_wrongly.sh spec       prints a spec whose plan shows all lies, to be put beside this folder's kernels
#        woven_wrongly.sh test TILEPOST  does all of that on the CPU
set -u
failed=0

# Each lie: its name and the change to the woven kernel, as sed has it. `said` has what the audit prints.
lies='
a_row_too_far      s/(tile\.row - tile\.m) \* shape\.ldc/(tile.row - tile.m + 1) * shape.ldc/
anothers_block     s/const int row = tile\.m \/ View::kTileM/const int row = (tile.m \/ View::kTileM + 1) % rows/
another_value      s/static_cast<int>(shape\.k)/static_cast<int>(shape.k - 1)/
not_moved          s/const long long moved = .*/const long long moved = 0;/
one_store_more     s/^  tilepost::woven::tile_done(/  if (threadIdx.x == 0 \&\& tile.m != 0) static_cast<unsigned short*>(c)[1] = 7;\n&/
before_the_output  s/^  tilepost::woven::tile_done(/  if (threadIdx.x == 0 \&\& tile.m != 0) static_cast<unsigned short*>(c)[-9] = 7;\n&/
changes_b          s/^  tilepost::woven::tile_done(/  if (threadIdx.x == 0) static_cast<unsigned short*>(b)[5] = 7;\n&/
no_signal          s/^  \(tilepost::woven::tile_done(.*\)/  if (tile.n != 0) \1/
two_signals        s/^  \(tilepost::woven::tile_done(.*\)/  \1\n  \1/
anothers_signal    s/^  tilepost::woven::tile_done(view_, tile,/  tilepost::woven::tile_done(view_, tilepost::Tile{tile.m, tile.n, tile.row, 0},/
padding_is_stored  s/if (!tile\.is_padding())/if (true)/
'
declare -A said=(
  [a_row_too_far]="footprint: .*the woven kernel does not store element (0, 0)"
  [anothers_block]="footprint: .*the woven kernel does not store element (0, 0)"
  [another_value]="bits: by the plan's schedule element (.*) is 0x.*, unwoven 0x"
  [not_moved]="bits: by random, seed .* schedule "
  [one_store_more]="footprint: .*the woven kernel stores elsewhere: 0x.* at row 0, column 1 "
  [before_the_output]="footprint: .*the woven kernel stores 18 bytes in front of the output"
  [changes_b]="footprint: .*the woven kernel stores into B"
  [no_signal]="footprint: .*the counter of group 0 rises by 0, expected 1"
  [two_signals]="footprint: .*the counter of group 0 rises by 2, expected 1"
  [anothers_signal]="the counter of group 0 rises by "
  [padding_is_stored]="bits: by random, seed .* schedule "
)

make_lies() (
  cd "$1" || exit 1
  source=$(find programs -name '*.cu' -o -name '*.cpp' | head -1)
  compile=$(grep -F -- "-c $source " build.sh) link=$(tail -1 build.sh)
  [ -n "$compile" ] || { echo "FAIL $1: build.sh does not compile '$source'"; exit 1; }
  cp "$source" honest
  while read -r name change; do
    [ -n "$name" ] || continue
    sed "$change" honest >"$source"
    cmp -s honest "$source" && { echo "FAIL $name changes nothing"; exit 1; }
    if ! { sh -c "$compile" && sh -c "${link/-o harness /-o wrong_$name }"; } >lie.log 2>&1; then
      echo "FAIL $name is not compiled"
      head -5 lie.log
      exit 1
    fi
  done <<<"$lies"
  mv honest "$source"
  sh -c "$compile" >lie.log 2>&1
)

run_lies() {
  local name change
  while read -r name change; do
    [ -n "$name" ] || continue
    timeout 120 "$1/wrong_$name" --runs 1 >"$1/lie.log" 2>&1
    if grep -q "^FAIL .*${said[$name]}" "$1/lie.log"; then
      echo "found: $name: $(grep '^FAIL' "$1/lie.log" | sed 's/.*\(footprint\|bits\): /\1: /' | cut -c1-150)"
    else
      echo "FAIL $name is not found as '${said[$name]}':"
      cat "$1/lie.log"
      failed=1
    fi
  done <<<"$lies"
}

# A spec with several groups, in which tiles are stored at places other than their own.
print_spec() {
  cat <<END
tilepost: 1
name: wrongly
pattern: gemm_all_reduce
ranks: 2
gemm: {m: 90, n: 70, k: 24, a: bf16}
arch: sm_80
transport: nccl
schedule: {sms: 8, comm_sms: 2, groups: [2, 4]}
kernel: {file: tiled.cu, function: 'lib::tiled<16>', tile: [16, 16], threads: [16, 16],
  grid: ['ceil_div(n, 16)', 'ceil_div(m, 16)'], arguments: {a: a, b: b, c: out, m: m, n: n, k: k}}
END
}

test_all() {
  local here
  here=$(cd "$(dirname "$0")" && pwd)
  dir=$(mktemp -d)
  trap 'rm -rf "$dir"' EXIT
  cp "$here/kernels/tiled.cu" "$dir"
  print_spec >"$dir/spec.yaml"
  "$1" verify "$dir/spec.yaml" --target host --runs 1 --keep "$dir/kept" >"$dir/log" 2>&1 ||
    { cat "$dir/log"; echo "FAIL what is woven rightly"; exit 1; }
  make_lies "$dir/kept" || failed=1
  run_lies "$dir/kept"
}

what=$1
shift
if [ "$what" = spec ]; then
  print_spec
  exit 0
fi
for each; do
  case $what in
    make) make_lies "$each" || failed=1 ;;
    run) run_lies "$each" ;;
    test) test_all "$each" ;;
    *) echo "usage: woven_wrongly.sh make|run DIR…, spec, test TILEPOST" >&2; exit 2 ;;
  esac
done
[ $failed = 0 ] && echo "PASS"
exit $failed
