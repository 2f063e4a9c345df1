#!/usr/bin/env bash
# Runs on two GPUs of one host what machines without peer access run: transport host_copies, and NCCL kept from
# peer-to-peer.
#
#   slow_links.sh make TILEPOST OUT   where there is nvcc: generates and compiles the programs of verify, generates
#                                     those of stress
#   slow_links.sh PART … OUT          where the GPUs are; OUT is what `make` has made. Parts, the most important first:
#
#   verify    `tilepost verify` of every pattern and routing by host_copies: ragged shapes, any m, neighbours, tiles
#   bench     four patterns of four shapes by host_copies, by nccl and in sequence, with NCCL_P2P_DISABLE=1
#   soak      10 000 runs of mixed operations, eager and replayed, with pauses of random length in front of them
#   faults    ranks that are stopped or killed, in every pattern, eager and replayed
#   memory    compute-sanitizer's memcheck of small programs
#   stress    soak and faults, and tests/gpu/trust.sh processes, graph and cycles on the same programs
#
# Environment: RANKS (2), ARCH (sm_90a), EACH (300) seconds at most for a part; RUNS (10000) of soak; JOBS (4) programs
# at a time in faults and memory, which wait most of the time; TILEPOST, for bench: the generator on that machine, and
# PROFILE (h200_no_peers) what `tilepost profile --without-peer-access` made there; RESULTS (OUT/results) where logs and
# tables go. With ONE_GPU=1 soak, faults and memory need one GPU only (tests/gpu/trust.sh).
#
# A part that fails leaves the others to run. The exit code is 1 if one has failed, or if shared memory is left.
set -uo pipefail
[ $# -ge 2 ] || { sed -n '2,21p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
ranks=${RANKS:-2} arch=${ARCH:-sm_90a} each=${EACH:-300}
failed=()
export NCCL_NVLS_ENABLE=0 NCCL_P2P_DISABLE=1

# spec NAME PATTERN M N K [FIELD …]: writes a spec, with FIELDs as further lines. Lists it as refused if it is not
# allowed.
spec() {
  local name=$1 pattern=$2 m=$3 n=$4 k=$5 file=$out/specs/$1.yaml
  shift 5
  {
    printf 'tilepost: 1\nname: %s\npattern: %s\nranks: %s\narch: %s\ntransport: host_copies\n' \
      "$name" "$pattern" "$ranks" "$arch"
    printf 'gemm: {m: %s, n: %s, k: %s, a: bf16}\n' "$m" "$n" "$k"
    [ $# = 0 ] || printf '%s\n' "$@"
  } >"$file"
  "$tool" check "$file" >"$out/log" 2>&1 && return
  printf '%s: %s\n' "$name" "$(grep -m1 'error:' "$out/log")" >>"$out/refused.txt"
  rm "$file"
}

# specs_of SHORT PATTERN [FIELD]: ragged shapes whose messages are smaller and larger than a chunk of 4 MiB.
specs_of() {
  local short=$1 pattern=$2
  shift 2
  spec "$short" "$pattern" 1000 1096 328 "$@"
  spec "${short}_large" "$pattern" 5000 4104 328 "$@"
  spec "${short}_any" "$pattern" '{max: 1000}' 1096 328 "$@"
  spec "${short}_nb" "$pattern" 1000 1096 328 'neighbours: true' "$@"
}

make_all() {
  rm -rf "$out"
  mkdir -p "$out/specs"
  : >"$out/refused.txt"
  specs_of ar gemm_all_reduce
  specs_of rs gemm_reduce_scatter
  specs_of ag all_gather_gemm
  local routing
  for routing in even splits rows; do
    specs_of "a2a_$routing" gemm_all_to_all "routing: $routing"
    specs_of "in_$routing" all_to_all_gemm "routing: $routing"
  done
  spec ar_unpermute gemm_all_reduce 1000 1096 328 'schedule: {layout: tile}' 'consumer: unpermute'
  spec rs_unpermute gemm_reduce_scatter 1000 1096 328 'schedule: {layout: tile}' 'consumer: unpermute'
  spec ar_norm gemm_all_reduce 1000 1096 328 'consumer: residual_rms_norm'
  spec rs_norm gemm_reduce_scatter 1000 1096 328 'consumer: rms_norm'
  echo "$(find "$out/specs" -name '*.yaml' | wc -l) programs to verify, $(wc -l <"$out/refused.txt") refused"
  "$tool" verify "$out"/specs/*.yaml --target cuda --no-run --keep "$out/verify" >"$out/log" 2>&1 ||
    { tail -20 "$out/log"; failed+=(make); return; }
  find "$out/verify" -mindepth 1 -maxdepth 1 ! -name harness -exec rm -rf {} +
  rm -rf "$out/specs" "$out/log"
  TRANSPORTS=host_copies bash "$here/programs.sh" "$tool" "$out/programs" "$ranks" main small || failed+=(make)
}

# run NAME COMMAND …: runs the command with a time limit and a log.
run() {
  local name=$1 begin=$SECONDS rc
  shift
  echo "== $name: $*"
  timeout -k 15 "$each" "$@" 2>&1 </dev/null | tee "$results/$name.log"
  rc=${PIPESTATUS[0]}
  echo "== $name: exit code $rc after $((SECONDS - begin)) s"
  [ "$rc" = 0 ] || failed+=("$name")
}

# trust PART: runs a part of tests/gpu/trust.sh on programs of host_copies. FLAGS and PATTERNS are its own.
trust() {
  GENERATED=$out/programs BUILD=${BUILD:-$results/build} OUT=$results/trust EACH=$((each - 30)) \
    run "trust_$1" bash "$here/trust.sh" "$1"
}

# Ranks come up to 2 ms later than each other. The runs come to an end, or the time does.
soak() { FLAGS="--runs ${RUNS:-10000} --delay 2000" trust soak; }

# Many processes on one GPU take turns, so that a run may take seconds.
faults() {
  PATTERNS=${PATTERNS:-'!(small_*|*_any)'} \
    FLAGS="--kinds kill,stop --jobs ${JOBS:-4} --deadline $(( ${ONE_GPU:-0} ? 5 : 2 ))" trust faults
}

# racecheck sees no memory that ranks share, and has nothing to say of copies.
memory() { TOOLS=memcheck AT_ONCE=${JOBS:-4} trust sanitize; }

# PROFILE is of this machine, or the one that is known of two H200 without peer access.
bench_all() {
  if [ ! -x "${TILEPOST:-}" ]; then
    echo "== bench: TILEPOST has to name the generator on this machine, and names '${TILEPOST:-}'"
    failed+=(bench)
    return
  fi
  local profile=${PROFILE:-h200_no_peers} transport specs=$root/tests/bench/shapes
  for transport in host_copies nccl; do
    run "bench_$transport" "$TILEPOST" bench "$specs"/{reduce_scatter,all_reduce,all_gather,all_to_all}.yaml \
      -D "ranks=$ranks" -D "transport=$transport" --machine "$profile" --mode cool --rounds 4 \
      --shape 4096x8192x8192 --shape 4096x4096x28672 --shape 8192x8192x4096 --shape 2048x8192x7168 \
      --json "$results/$transport.json"
  done
}

# Segments of System V that these processes have left.
left() { awk 'NR > 1 && $7 == 0' /proc/sysvipc/shm | wc -l; }

if [ "$1" = make ]; then
  [ $# = 3 ] || { sed -n '2,6p' "$0" >&2; exit 2; }
  tool=$(readlink -f "$2") out=$3
  make_all
else
  parts=("${@:1:$#-1}")
  out=$(readlink -f "${!#}")
  results=${RESULTS:-$out/results}
  mkdir -p "$results"
  results=$(readlink -f "$results")
  before=$(left)
  for part in "${parts[@]}"; do
    case $part in
      verify) run verify "$out/verify/harness" --runs 2 ;;
      bench) bench_all ;;
      soak | faults | memory) "$part" ;;
      stress)
        soak
        faults
        for drivers in processes graph cycles; do trust "$drivers"; done
        ;;
      *) echo "no part '$part'; there are verify, bench, soak, faults, memory and stress" && failed+=("$part") ;;
    esac
  done
  [ "$(left)" = "$before" ] || { echo "== shared memory is left:"; cat /proc/sysvipc/shm; failed+=(left); }
fi
[ ${#failed[@]} = 0 ] || { echo "== failed: ${failed[*]}"; exit 1; }
