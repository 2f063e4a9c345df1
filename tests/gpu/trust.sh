#!/usr/bin/env bash
# Builds the drivers of tests/gpu/trust and runs parts of them on this machine's GPUs.
#
#   trust.sh PART …        parts: build faults threads pairs foreign neighbours soak processes graph sweep
#                          cycles sanitize; build comes by itself
#
# Environment: GENERATED (.carry/trust) what programs.sh has made, BUILD (build/trust) where to build, OUT
# (build/trust/out) gets trust.tsv, a line for every case of every part, and PART.log; EACH (540) seconds at
# most for each part, PATTERNS which programs, FLAGS more flags of the driver, JOBS compilers at a time. With
# FIRST_RUN=4294967276u numbers of runs come to 2^32 soon (CMakeLists.txt). With ONE_GPU=1 parts faults, soak,
# processes, graph, sweep, cycles and sanitize have all ranks on the first GPU, a process for each: whether results are
# right can be seen so on a machine with one GPU.
#
# A part that fails leaves the others to run. The exit code is 1 if one has failed. Parts can be repeated:
# with RESUME a file like trust.tsv, faults, pairs and foreign leave out what has passed by it.
set -u
[ $# -ge 1 ] || { sed -n '2,15p' "$0" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
generated=$(readlink -f "${GENERATED:-$root/.carry/trust}")
build=${BUILD:-$root/build/trust} out=${OUT:-$root/build/trust/out} each=${EACH:-540}
same=() where=()
[ -z "${ONE_GPU:-}" ] || same=(--processes 1 --devices same) where=(--devices same)
# A program that hangs in NVLink multicast may take the host's GPUs with it.
export NCCL_NVLS_ENABLE=0
mkdir -p "$build" "$out"
touch "$out/trust.tsv"
failed=()

build() {
  [ -n "$(ls "$generated"/*.cu 2>/dev/null)" ] ||
    { echo "no programs in '$generated': tests/gpu/programs.sh makes them, GENERATED names the folder"; return 1; }
  cmake -S "$root/tests/gpu" -B "$build" -DTILEPOST_GENERATED_DIR="$generated" -DCMAKE_CUDA_ARCHITECTURES=90a \
    -DTILEPOST_CUDA_ARCHITECTURES=90 -DCMAKE_BUILD_TYPE=Release -DTILEPOST_TEST_ONE_GPU="${ONE_GPU:+ON}" \
    -DTILEPOST_TEST_FIRST_RUN="${FIRST_RUN:-}" $(command -v ninja >/dev/null && echo -GNinja) >"$out/build.log" 2>&1 &&
    cmake --build "$build" -j "${JOBS:-$(nproc)}" --target gpu_faults gpu_beside gpu_soak gpu_processes gpu_dead_rank \
      >>"$out/build.log" 2>&1 && return
  grep -E -A3 'error|Error|FAILED' "$out/build.log" | head -30
  return 1
}

# run <part> <command …>: runs the command with a time limit and a log, and prints how it ended.
run() {
  local part=$1 begin=$SECONDS rc
  shift
  echo "== $part: $*"
  timeout -k 15 $((each + 20)) "$@" 2>&1 </dev/null | tee "$out/$part.log"
  rc=${PIPESTATUS[0]}
  [ "$rc" = 0 ] || [ "$rc" = 77 ] || failed+=("$part")
  echo "== $part: exit code $rc after $((SECONDS - begin)) s"
}

# driver <part> <default patterns> <program> <words …>: runs a driver on the programs that match the patterns.
driver() {
  local part=$1 patterns=$2 program=$3 chosen
  shift 3
  read -r -a chosen <<<"${PATTERNS:-$patterns}"
  # shellcheck disable=SC2086 # FLAGS are words
  run "$part" "$build/$program" "$@" "${chosen[@]}" --tsv "$out/trust.tsv" --seconds $((each - 30)) \
    ${RESUME:+--resume "$RESUME"} ${FLAGS:-}
}

main='!(small_*|big_*|mate_*|*_nb)'
if ! build; then
  echo "the build has failed: $out/build.log"
  exit 1
fi
echo "built after $SECONDS s"
for part in "$@"; do
  case $part in
    build) ;;
    faults) driver faults "$main" faults "${where[@]}" ;;
    threads) driver threads "$main" dead_rank ;;
    pairs) driver pairs '' beside pairs ;;
    foreign) driver foreign '@(ar|rs)_@(peer|nccl|host_copies|copy_engine)' beside foreign --expect "${EXPECT:-ok}" ;;
    neighbours) driver neighbours '*_nb' beside foreign ;;
    soak) driver soak "$main" soak mixed --seed "${SEED:-1}" "${same[@]}" ;;
    processes) driver processes "$main" soak mixed --processes 1 "${same[@]}" --seed "${SEED:-1}" ;;
    graph) driver graph '@(ar|rs|ag|a2a_even|in_even)_@(nccl|peer|host_copies|copy_engine)' soak graph "${same[@]}" ;;
    sweep) driver sweep '@(ar|rs|ag|a2a_even)_tiles_*any' soak sweep "${same[@]}" ;;
    cycles) driver cycles '@(ar_peer|rs_nccl2|ar_host_copies|ag_copy_engine)' soak cycles "${same[@]}" ;;
    sanitize)
      export TSV=$out/trust.tsv BUDGET=${BUDGET:-$((each > 320 ? each - 160 : each / 2))}
      # shellcheck disable=SC2086 # PATTERNS are words
      run sanitize bash "$root/tests/gpu/sanitize.sh" "$build/processes" ${PATTERNS:-'small_*'}
      ;;
    *)
      echo "no part '$part'"
      failed+=("$part")
      ;;
  esac
done
tab=$(printf '\t')
echo "== $(grep -c "${tab}PASS$tab" "$out/trust.tsv") passed; failed:"
grep "${tab}FAIL$tab" "$out/trust.tsv" | cut -f1,2
[ ${#failed[@]} = 0 ] || { echo "== parts that failed: ${failed[*]}"; exit 1; }
