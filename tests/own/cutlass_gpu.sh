#!/usr/bin/env bash
# Kernels of CUTLASS's on GPUs: the audit of `tilepost verify`, adapters with errors, the patterns, and their cost.
# Usage: cutlass_gpu.sh make TILEPOST OUT FOLDER  where there are nvcc and NCCL: compiles; CUTLASS is in FOLDER, or put there
#        cutlass_gpu.sh audit OUT     one Hopper GPU: every position, all bits, adapters that err
#        cutlass_gpu.sh patterns OUT  four of them
#        cutlass_gpu.sh bench OUT     one: the kernel beside the original; four: the operations too
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
example=$(cd "$here/../../examples/06_cutlass" && pwd)
failed=0

# For each wrong adapter its name, the header that is changed, and the change as sed has it.
errors='
not_moved        moved_store.hpp  s/y + shift, 0)/y, 0)/
told_twice       epilogue.hpp     s/NumThreadsPerWarp == 0)/NumThreadsPerWarp < 2)/
not_told         epilogue.hpp     s/if (is_it \&\& thread/if (is_it \&\& tile.n != 0 \&\& thread/
other_turns      schedule.h       s/return block + (turn + nth \* turns) \* blocks/return block + (1 - turn + nth * turns) * blocks/
'
declare -A said=(
  [not_moved]="bits: by random, seed .* schedule "
  [told_twice]="the counter of group 0 rises by 2"
  [not_told]="the counter of group 0 rises by 0"
  [other_turns]="does not store element (0, 0)"
)

# alone NAME SIZES FIELDS: copies the spec FIELDS of the example under NAME, for SIZES, one GPU and no communication.
alone() {
  sed "s/^name: .*/name: $1/; s/^pattern: .*/pattern: gemm/; s/^ranks: .*/ranks: 1/; s/^gemm: .*/gemm: $2/
    s|file: |file: $example/|; s|^kernel:|&\n  include_dirs: ['$cutlass']|" "$example/$3.yaml" >"$out/specs/$1.yaml"
}

# compile FOLDER COMMAND…: has COMMAND compile a harness into FOLDER without running it.
compile() {
  local folder=$1
  shift
  "$@" --keep "$out/$folder" --no-run >"$out/log" 2>&1 && return
  echo "FAIL $folder is not compiled"
  grep -v '^tilepost: compiling' "$out/log" | head -30
  failed=1
}

# Builds each wrong adapter into the audit of the pingpong kernel.
make_errors() (
  cd "$out/audit" || exit 1
  source=programs/scaled.cu
  compile=$(grep -F -- "-c $source " build.sh) link=$(tail -1 build.sh)
  while read -r name header change; do
    [ -n "$name" ] || continue
    cp "include/tilepost/cutlass/$header" honest
    sed -i "$change" "include/tilepost/cutlass/$header"
    cmp -s honest "include/tilepost/cutlass/$header" && { echo "FAIL $name changes nothing"; exit 1; }
    sh -c "$compile" >lie.log 2>&1 && sh -c "${link/-o harness /-o wrong_$name }" >>lie.log 2>&1 ||
      { echo "FAIL $name is not compiled"; grep error lie.log | head -3; exit 1; }
    cp honest "include/tilepost/cutlass/$header"
  done <<<"$errors"
)

make_all() {
  cutlass=$(bash "$here/find_cutlass.sh" "$1") || exit 77
  mkdir -p "$out/specs"
  alone scaled "{m: 1000, n: 2064, k: 512, a: e4m3, out: bf16}" scaled
  alone plain "{m: 1000, n: 2056, k: 512, a: bf16}" gemm
  alone plain_any_m "{m: {max: 700}, n: 1032, k: 264, a: bf16}" gemm
  compile audit "$tool" verify "$out"/specs/*.yaml --target cuda
  make_errors || failed=1
  rm "$out"/specs/*
  compile patterns_gemm "$tool" verify "$example/gemm.yaml" --target cuda \
    -D "kernel.include_dirs=['$cutlass']" --sweep "transport=nccl,copy_engine"
  compile patterns_scaled "$tool" verify "$example/scaled.yaml" --target cuda \
    -D "kernel.include_dirs=['$cutlass']" -D transport=nccl
  compile bench_4 "$tool" bench "$example/gemm.yaml" -D "kernel.include_dirs=['$cutlass']"
  alone plain "{m: 8192, n: 8192, k: 2048, a: bf16}" gemm
  compile bench_1 "$tool" bench "$out/specs/plain.yaml" -D transport=none
  rm -rf "$out/specs" "$out/log" "$out"/*/{obj,runtime,include,plain,honest} "$out"/*/*.log
}

audit() {
  "$out/audit/harness" --runs 1 | grep -v '^# .*run' || failed=1
  local name header change
  while read -r name header change; do
    [ -n "$name" ] || continue
    timeout 120 "$out/audit/wrong_$name" --only scaled --runs 1 >"$out/lie.log" 2>&1
    if grep -q "^FAIL .*${said[$name]}" "$out/lie.log"; then
      echo "found: $name"
    else
      echo "FAIL $name is not found as '${said[$name]}':"
      cat "$out/lie.log"
      failed=1
    fi
  done <<<"$errors"
}

[ $# -ge 2 ] || { sed -n '3,6p' "$0" >&2; exit 2; }
case $1 in
  make) tool=$2 out=$3 && make_all "$4" ;;
  audit) out=$2 && audit ;;
  patterns) for each in "$2"/patterns_*; do "$each/harness" --runs 3 || failed=1; done ;;
  bench) for each in "$2"/bench_*; do "$each/harness" || failed=1; done ;;
esac
[ $failed = 0 ] && echo "PASS: cutlass_gpu.sh $1"
exit $failed
