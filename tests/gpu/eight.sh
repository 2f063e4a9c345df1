#!/usr/bin/env bash
# Runs on a machine with eight GPUs what four GPUs cannot show well enough.
#
#   eight.sh make TILEPOST OUT     where there are nvcc and NCCL: generates all programs, compiles those of verify
#   eight.sh PART … OUT            where the GPUs are; OUT is what `make` has made. Parts, the most important first:
#
#   verify    `tilepost verify` of every pattern by every transport: a ragged shape, few rows, any m, routes
#   stress    mixed runs in threads, in processes and with delays; graphs; ranks that fail (tests/gpu/trust.sh)
#   bench     `tilepost bench` of the shapes of docs/benchmarks.md, of M = N = 8 K, of few rows, PyTorch beside
#
# Environment: RANKS (8), EACH (450) seconds at most for a part; TILEPOST, for bench: the generator on that machine;
# TORCH (python3), the Python that has PyTorch, or empty for none; RESULTS (OUT/results) where logs and tables go.
#
# A part that fails leaves the others to run, and what it had done is in RESULTS: bench writes a JSON for every set
# of shapes. The exit code is 1 if one has failed.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,15p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
ranks=${RANKS:-8} each=${EACH:-450}
failed=()
# A program that hangs in NVLink multicast may take the host's GPUs with it.
export NCCL_NVLS_ENABLE=0

# spec NAME PATTERN M K [FIELD …]: writes a spec, with FIELDs as further lines. Lists it as refused if it is not
# allowed.
spec() {
  local name=$1 pattern=$2 m=$3 k=$4 file=$out/specs/$1.yaml
  shift 4
  {
    printf 'tilepost: 1\nname: %s\npattern: %s\nranks: %s\narch: sm_90a\n' "$name" "$pattern" "$ranks"
    printf 'gemm: {m: %s, n: 1096, k: %s, a: bf16}\n' "$m" "$k"
    [ $# = 0 ] || printf '%s\n' "$@"
  } >"$file"
  "$tool" check "$file" >"$out/log" 2>&1 && return
  printf '%s: %s\n' "$name" "$(grep -m1 'error:' "$out/log")" >>"$out/refused.txt"
  rm "$file"
}

# specs_of SHORT PATTERN [FIELD]: a spec for every transport. Of 1000 rows each of eight ranks has 125, of 72 nine.
specs_of() {
  local short=$1 pattern=$2 transport
  shift 2
  for transport in nccl nccl_symmetric host_copies copy_engine peer none; do
    spec "${short}_$transport" "$pattern" 1000 328 "transport: $transport" "$@"
    spec "${short}_${transport}_any" "$pattern" '{max: 1000}' 328 "transport: $transport" "$@"
  done
  spec "${short}_tiles" "$pattern" 72 1024 'transport: peer_tiles' "$@"
  spec "${short}_tiles_any" "$pattern" '{max: 1024}' 1024 'transport: peer_tiles' "$@"
  spec "${short}_auto_any" "$pattern" '{max: 2048}' 1024 'transport: auto' 'schedule: {kernels: 4}' "$@"
}

make_all() {
  rm -rf "$out"
  mkdir -p "$out/specs"
  : >"$out/refused.txt"
  specs_of ar gemm_all_reduce
  specs_of rs gemm_reduce_scatter
  specs_of ag all_gather_gemm
  local routing shots
  for routing in even rows; do
    specs_of "a2a_$routing" gemm_all_to_all "routing: $routing"
    specs_of "in_$routing" all_to_all_gemm "routing: $routing"
  done
  specs_of in_splits all_to_all_gemm 'routing: splits'
  for shots in one two lines; do
    spec "ar_tiles_$shots" gemm_all_reduce 72 1024 'transport: peer_tiles' "schedule: {shots: $shots}"
    spec "ar_tiles_${shots}_norm" gemm_all_reduce 72 1024 'transport: peer_tiles' "schedule: {shots: $shots}" \
      'consumer: residual_rms_norm'
  done
  spec ar_unpermute gemm_all_reduce 1000 328 'transport: nccl' 'schedule: {layout: tile}' 'consumer: unpermute'
  spec ar_norm gemm_all_reduce 1000 328 'transport: peer' 'consumer: residual_rms_norm'
  echo "$(find "$out/specs" -name '*.yaml' | wc -l) programs to verify, $(wc -l <"$out/refused.txt") refused"
  "$tool" verify "$out"/specs/*.yaml --target cuda --no-run --keep "$out/verify" >"$out/log" 2>&1 ||
    { tail -20 "$out/log"; failed+=(make); return; }
  find "$out/verify" -mindepth 1 -maxdepth 1 ! -name harness -exec rm -rf {} +
  rm -rf "$out/specs" "$out/log"
  bash "$here/programs.sh" "$tool" "$out/programs" "$ranks" main few ranges || failed+=(make)
}

# run NAME COMMAND …: runs the command with a time limit and a log. True if it passed.
run() {
  local name=$1 begin=$SECONDS rc
  shift
  echo "== $name: $*"
  timeout -k 15 "$each" "$@" 2>&1 </dev/null | tee "$results/$name.log"
  rc=${PIPESTATUS[0]}
  echo "== $name: exit code $rc after $((SECONDS - begin)) s"
  [ "$rc" = 0 ] || failed+=("$name")
}

# stress SECONDS PART: runs a part of tests/gpu/trust.sh, whose own time limit is the shorter one.
stress() {
  GENERATED=$out/programs BUILD=$results/build OUT=$results/trust EACH=$1 each=$(($1 + 60)) \
    run "stress_$2" bash "$here/trust.sh" "$2"
}

# bench NAME SECONDS FLAG …: times the four patterns.
bench() {
  local name=$1 seconds=$2 torch=() specs
  shift 2
  [ -z "${TORCH-python3}" ] || torch=(--torch "${TORCH-python3}")
  specs=$root/tests/bench/shapes
  each=$seconds run "bench_$name" "$TILEPOST" bench \
    "$specs"/{reduce_scatter,all_reduce,all_gather,all_to_all}.yaml -D "ranks=$ranks" "$@" "${torch[@]}" \
    --json "$results/$name.json"
}

# shapes MxNxK …: prints flags for these shapes.
shapes() { printf -- '--shape %s ' "$@"; }

bench_all() {
  if [ ! -x "${TILEPOST:-}" ]; then
    echo "== bench: TILEPOST has to name the generator on this machine, and names '${TILEPOST:-}'"
    failed+=(bench)
    return
  fi
  local rows few=()
  for rows in 1 16 64 128 256 512 1024; do few+=("${rows}x8192x2048"); done
  # shellcheck disable=SC2046 # shapes are words
  bench six $((each * 4 / 10)) --mode cool --rounds 4 $(shapes 4096x8192x2048 8192x8192x2048 16384x8192x2048 \
    8192x8192x7168 8192x4096x3584 4096x12288x3072)
  # shellcheck disable=SC2046
  bench few $((each * 3 / 10)) --mode cool --rounds 8 $(shapes "${few[@]}")
  # Shapes for which others have published figures.
  # shellcheck disable=SC2046
  bench published $((each * 3 / 10)) --mode cool --rounds 4 $(shapes 2048x2048x256 4096x4096x512 8192x8192x1024 \
    12288x12288x1536 16384x16384x2048 8192x8192x3584)
}

if [ "$1" = make ]; then
  [ $# = 3 ] || { sed -n '2,5p' "$0" >&2; exit 2; }
  tool=$(readlink -f "$2") out=$3
  make_all
else
  parts=("${@:1:$#-1}")
  out=$(readlink -f "${!#}")
  results=${RESULTS:-$out/results}
  mkdir -p "$results"
  results=$(readlink -f "$results")
  for part in "${parts[@]}"; do
    case $part in
      verify) run verify "$out/verify/harness" --runs 1 ;;
      stress)
        stress $((each / 4)) build
        stress $((each / 5)) soak
        FLAGS='--delay 300' stress $((each / 5)) processes
        for drivers in graph sweep faults; do stress $((each / 9)) "$drivers"; done
        ;;
      bench) bench_all ;;
      *) echo "no part '$part'; there are verify, stress and bench" && failed+=("$part") ;;
    esac
  done
fi
[ ${#failed[@]} = 0 ] || { echo "== failed: ${failed[*]}"; exit 1; }
