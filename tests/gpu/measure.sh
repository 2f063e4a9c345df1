#!/usr/bin/env bash
# Measures on the GPUs of one host what the project has: on four, unless `make` is told otherwise.
#
#   measure.sh make TILEPOST LIBRARY OUT    anywhere: draws plans, writes programs, compiles what can be compiled here
#   measure.sh build OUT [NAME …]           where there is nvcc: compiles all that `make` has left, or these builds
#   measure.sh plan                         prints the parts, in their order, and their seconds
#   measure.sh run OUT RESULTS [PART …]     where the GPUs are: compiles the rest between parts, and runs them
#
#   verify    `tilepost verify` of random plans of every pattern by every transport
#   sums      tokens that go to experts and come home: drivers that check them, and `tilepost bench` by every transport
#   moe       python/bench/moe.py and experts.py: whole layers of experts, and their halves
#   scales    `tilepost bench` of four patterns in e4m3 with scales of blocks: random shapes, and few rows in graphs
#   few       trust.sh: programs of few rows with scales and with outputs of 8 bits, eager and replayed
#   graphs    `tilepost bench` of an AllGather in graphs, which should not be slower than the sequence
#   slow      slow_links.sh bench: without peer access, by the profile that part profile has made there
#   chain     chain.sh: a ReduceScatter, a norm and an AllGather in fp8, on two of the GPUs
#   faults    ranks that are stopped, killed or late, with the newer transports
#   bench     `tilepost bench` of the six shapes of docs/benchmarks-four-h200.md, of random ones and of few rows, and
#             PyTorch's fused operations at the same points
#   layer     python/bench/layer.py: layers of Llama 70B and 8B
#   profile   `tilepost profile` with and without peer access, and what the planner chooses by each
#
# The parts that two GPUs can answer come first, then those that have been measured before.
#
# TILEPOST has to run on both machines, and LIBRARY is libtilepost.so with CUDA. OUT is to be moved to the machine with
# the GPUs, which needs this repository, nvcc, NCCL, CMake, ninja and a Python with PyTorch. Each step of a part has a
# time limit and a log in RESULTS. A step that has passed is left out when `run` is called again with the same RESULTS.
#
# Environment of make: RANKS (4); PLANS (12, and 3 for fewer ranks) of each pattern by each transport; SETS (one for 3
# PLANS) over which they are spread, each a program; SEED (1) of plans and of random shapes; COMPILE, `here` (default)
# or `there`, where all but the drivers is compiled; JOBS (all cores) compilers at a time; PYTHON (python3), which needs
# PyTorch for the specs of the parts layer and moe. Without it these are made where the GPUs are.
# Environment of run: LIMIT (1400) seconds, after which no step begins or goes on; TILEPOST, another tool than OUT has;
# JOBS and PYTHON as above. With ONE_GPU=1 all ranks of the parts faults and few, and of the drivers of part sums, are
# on the first GPU.
#
# The exit code is 1 if a step has failed, 3 if there was no time for some, and 77 if none could run.
set -uo pipefail
usage() { sed -n '2,8p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
python=${PYTHON:-python3} jobs=${JOBS:-$(nproc)}
[ ! -d /usr/local/cuda/bin ] || export PATH=/usr/local/cuda/bin:$PATH
# A program that hangs in NVLink multicast may take the host's GPUs with it.
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
. "$here/measure/bench_sets.sh"
. "$here/measure/parts.sh"
. "$here/measure/build.sh"

# ---- make

# keep_programs FOLDER PATTERN …: removes the generated programs of a folder whose names match none of the patterns, and
# says which pattern has none.
keep_programs() {
  local folder=$1 file name pattern
  shift
  for file in "$folder"/*.cu; do
    name=$(basename "$file" .cu)
    # shellcheck disable=SC2053 # the right side is a pattern
    for pattern in "$@"; do [[ $name != $pattern ]] || continue 2; done
    rm "$folder/$name".*
  done
  for pattern in "$@"; do
    compgen -G "$folder/$pattern.cu" >/dev/null ||
      echo "no program $pattern: $(grep -m1 "^$pattern:" "$folder/refused.txt")"
  done
}

# Programs for the drivers of tests/gpu: of all that programs.sh makes, those of the newer transports, one for each way
# in which ranks wait for each other; those of few rows with scales or 8 bits; and all with experts.
driver_programs() {
  TRANSPORTS="host_copies peer" bash "$here/programs.sh" "$tool" "$out/programs" "$ranks" main few fused || return 1
  keep_programs "$out/programs" "${fault_programs[@]}"
  bash "$here/programs.sh" "$tool" "$out/few" "$ranks" few || return 1
  keep_programs "$out/few" "${few_programs[@]}"
  bash "$here/programs.sh" "$tool" "$out/experts" "$ranks" experts sums layers
}

# The Python package with the library, as torch.sh has it.
package() {
  local exports
  exports=$(nm -D --defined-only "$library")
  [[ $exports == *" tilepost_cuda_kernel_loader"* ]] || { echo "$library has no CUDA"; return 1; }
  mkdir -p "$out/package"
  cp -r "$root/python/tilepost" "$out/package/tilepost" && rm -rf "$out/package/tilepost/lib" || return 1
  mkdir "$out/package/tilepost/lib"
  cp "$library" "$out/package/tilepost/lib/libtilepost.so" || return 1
  printf '"""What the library of this package has."""\n\nCUDA = True\n' >"$out/package/tilepost/_built.py"
}

make_all() {
  local plans seed=${SEED:-1} name
  ranks=${RANKS:-4}
  plans=${PLANS:-$((ranks < 4 ? 3 : 12))}
  sets=${SETS:-$(((plans + 2) / 3))}
  [ "$sets" -le "$plans" ] || sets=$plans
  rm -rf "$out"
  mkdir -p "$out/specs" "$out/made" "$out/logs"
  out=$(readlink -f "$out")
  printf 'ranks=%s sets=%s plans=%s seed=%s\n' "$ranks" "$sets" "$plans" "$seed" >"$out/settings"
  cp "$tool" "$out/tilepost"
  strip "$out/tilepost" 2>/dev/null
  "$python" "$here/measure/random_plans.py" "$tool" "$out/specs" "$ranks" "$plans" "$sets" "$seed" || return 1
  bench_specs && package || return 1
  if [ "$ranks" -gt 1 ]; then driver_programs || return 1; fi
  if "$python" -c 'import torch' 2>/dev/null; then python_specs || return 1; fi
  if [ "${COMPILE:-here}" = here ]; then
    for name in $(builds); do
      case $name in
        drivers | experts | few | chain) ;; # their folders name files of the machine that compiles them
        *) build "$name" "$jobs" || return 1 ;;
      esac
    done
  fi
  # Objects and copies of sources are not needed where harnesses run, and TILEPOST may be large.
  rm -rf "$out/cache"
  gzip -f "$out/tilepost"
  echo "made $(du -sh "$out" | cut -f1) in $out: $(cat "$out/settings")"
}

# Compiles in this process. `run` leaves out what is done here.
build_here() {
  local name failures=0
  . "$out/settings"
  out=$(readlink -f "$out")
  find_tool
  # shellcheck disable=SC2046 # names are words
  [ $# -gt 0 ] || set -- $(builds)
  for name in "$@"; do build "$name" "$jobs" || failures=1; done
  return "$failures"
}

# ---- run

# Sets `tool` to the one that is asked for, or to what `make` has packed.
find_tool() {
  tool=${TILEPOST:-$out/tilepost}
  [ -x "$tool" ] || gunzip -f "$out/tilepost.gz" || exit 1
}

# left: seconds until LIMIT.
left() { echo $((deadline - SECONDS)); }

# note NAME RESULT: a line for the summary.
note() { printf '%s\t%s\n' "$1" "$2" | tee -a "$results/steps.tsv" | sed 's/\t/: /; s/^/== /'; }

# end_left MARK: ends the processes that a step has left, such as ranks whose starter was killed: they hold GPUs.
end_left() {
  local file
  for file in /proc/[0-9]*/environ; do
    grep -qsz "^MEASURE_STEP=$1\$" "$file" || continue
    file=${file#/proc/}
    kill -9 "${file%/environ}" 2>/dev/null
  done
}

# step NAME SECONDS COMMAND …: runs a command unless it has passed before, with a time limit. Its standard output is
# RESULTS/NAME.out. Returns 0 if that file has something to look at.
step() {
  local name=$1 seconds=$2 rc begin=$SECONDS
  shift 2
  if [ -e "$results/$name.done" ]; then
    echo "== $name: has passed before"
    return 0
  fi
  if [ "$(left)" -lt 10 ]; then
    note "$name" "no time left"
    late=1
    return 1
  fi
  [ "$seconds" -lt "$(left)" ] || seconds=$(left)
  echo "== $name, at most $seconds s: $*"
  mark=$name.$$
  MEASURE_STEP=$mark timeout -k 10 "$seconds" "$@" >"$results/$name.out" 2>"$results/$name.err" </dev/null &
  wait $!
  rc=$?
  end_left "$mark"
  case $rc in
    0) ran=1; touch "$results/$name.done"; note "$name" "passed after $((SECONDS - begin)) s" ;;
    77)
      note "$name" "skipped: $(tail -qn 1 "$results/$name.out" "$results/$name.err" | head -1)"
      # Where some programs of a harness do not run here, the others need not run again.
      grep -q '^ok' "$results/$name.out" || return 1
      ran=1
      touch "$results/$name.done"
      ;;
    124 | 137) ran=1 late=1; note "$name" "stopped after $((SECONDS - begin)) s, before its end" ;;
    *)
      ran=1 failed=1
      note "$name" "FAILED with exit code $rc after $((SECONDS - begin)) s"
      tail -n 8 "$results/$name.err"
      ;;
  esac
  return 0
}

# skip NAME WHY: says that a step does not run here.
skip() { note "$1" "skipped: $2"; }

# Prints what the steps have come to, of each the last word.
summary() {
  echo
  echo "| step | result | |"
  echo "|---|---|---|"
  awk -F '\t' '!($1 in last) { order[++count] = $1 } { last[$1] = $2 } END {
    for (i = 1; i <= count; ++i) print order[i] "\t" last[order[i]] }' "$results/steps.tsv" |
    while IFS=$'\t' read -r name result; do
      printf '| %s | %s | %s |\n' "$name" "$result" "$(gist "$name")"
    done
}

run_all() {
  local part
  deadline=$((SECONDS + ${LIMIT:-1400})) failed=0 late=0 ran=0
  . "$out/settings"
  mkdir -p "$results"
  touch "$results/steps.tsv"
  out=$(readlink -f "$out") results=$(readlink -f "$results")
  find_tool
  find_gpus
  mark=
  trap stop_builds EXIT
  trap '[ -z "$mark" ] || end_left "$mark"; exit 143' TERM INT HUP
  start_builds "$@"
  for part in "$@"; do
    # shellcheck disable=SC2046 # names are words
    beside_compilers "$part" || hold_builds $(needs "$part")
    if alone "$part"; then skip "$part" "one rank exchanges nothing"; else "part_$part"; fi
    release_builds
  done
  stop_builds
  summary | tee "$results/summary.md"
  [ "$failed" = 0 ] || exit 1
  [ "$late" = 0 ] || exit 3
  [ "$ran" = 1 ] || [ -n "$(find "$results" -maxdepth 1 -name '*.done' -print -quit)" ] || exit 77
}

case ${1:-} in
  make)
    [ $# = 4 ] || usage
    tool=$(readlink -f "$2") library=$(readlink -f "$3") out=$4
    make_all || { echo "measure.sh make has failed"; exit 1; }
    ;;
  build)
    [ $# -ge 2 ] && [ -f "$2/settings" ] || usage
    out=$2
    shift 2
    build_here "$@"
    ;;
  plan) print_plan ;;
  run)
    [ $# -ge 3 ] || usage
    out=$2 results=$3
    shift 3
    [ -f "$out/settings" ] || { echo "no folder of 'measure.sh make': $out" >&2; exit 2; }
    [ $# -gt 0 ] || set -- "${parts[@]}"
    for part in "$@"; do
      [[ " ${parts[*]} " == *" $part "* ]] || { echo "no part '$part'; there are ${parts[*]}" >&2; exit 2; }
    done
    run_all "$@"
    ;;
  *) usage ;;
esac
