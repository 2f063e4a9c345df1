#!/usr/bin/env bash
# Runs every program briefly under compute-sanitizer, with a process for each rank.
#
#   sanitize.sh PROCESSES [pattern …]
#
# PROCESSES is the program of processes.cpp, built with the small programs of programs.sh. Environment: TOOLS
# (memcheck racecheck), RUNS of each program (4), EACH seconds at most (150), BUDGET seconds in all (100000),
# TSV a file to append to, AT_ONCE programs (1), SANITIZER_FLAGS more flags, ONE_GPU=1 for a build with
# TILEPOST_TEST_ONE_GPU to have all ranks on the first GPU. racecheck sees a kernel's shared
# memory only: of memory that GPUs share, memcheck sees the bounds, and no tool the races.
#
# 0 if there was no error, 1 if there was one, 77 if there is no compute-sanitizer.
set -u
[ $# -ge 1 ] || { sed -n '2,12p' "$0" >&2; exit 2; }
processes=$(readlink -f "$1")
shift
[ $# -gt 0 ] || set -- 'small_*'
same=()
[ -z "${ONE_GPU:-}" ] || same=(--devices same)
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
[ -n "$sanitizer" ] || { echo "skipped: no compute-sanitizer here"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Errors that CUDA's calls return are not counted. NCCL asks for attributes of kernels that have no image for this GPU
# and goes on. The runtime asks whether devices reach each other.
#
# Kernels whose reports are no faults, as 'tool|part of the kernel's name|reason'.
excluded=(
  # NCCL stores into a peer's window. The tool does not know that it is mapped on this device, and reports "out of
  # bounds, and inside the nearest allocation".
  "memcheck|ncclDevKernel_SendRecv|NCCL's own, out of symmetric windows"
  # The shared memory of NCCL's kernels is NCCL's to check, and patching them all takes minutes for each process.
  "racecheck|ncclDevKernel|NCCL's own"
  "racecheck|ncclSymkDevKernel|NCCL's own"
  # The reference's product uses shared memory on every rank: checking it would take most of a program's time.
  "racecheck|product_kernel|the tests' own"
)

names=$("$processes" "$@" "${same[@]}" --list 1 | grep -v '^SKIP') || { echo "skipped: no such program, or too few GPUs"; exit 77; }
failures=0 passed=0

# one <tool> <program>: prints a line. Fails unless there are no errors.
one() {
  local tool=$1 name=$2 log=$dir/$1.$2 entry begin=$SECONDS verdict=FAIL
  local flags=(--tool "$1" --target-processes all --report-api-errors no)
  local errors rc first
  for entry in "${excluded[@]}"; do
    IFS='|' read -r which kernel _ <<<"$entry"
    [ "$which" != "$tool" ] || flags+=(--kernel-name-exclude "kernel_substring=$kernel")
  done
  # shellcheck disable=SC2086 # flags are words
  timeout -k 10 "${EACH:-150}" "$sanitizer" "${flags[@]}" ${SANITIZER_FLAGS:-} \
    "$processes" "$name" "${same[@]}" --runs "${RUNS:-4}" --faults 0 --deadline 100 >"$log" 2>&1 </dev/null
  rc=$?
  # Every process writes a summary. racecheck counts warnings separately; they are hazards too.
  errors=$(sed -nE 's/.*ERROR SUMMARY: ([0-9]+) errors?.*/\1/p; s/.*SUMMARY: ([0-9]+) hazards? displayed.*/\1/p' \
    "$log" | awk '{ sum += $1; count++ } END { print count ? sum : "none" }')
  [ "$rc" != 0 ] || [ "$errors" != 0 ] || verdict=PASS
  [ "$rc" != 124 ] || errors="timeout"
  first=$(grep -m1 -E '(Invalid|Error: |Race reported|Warning: Race|Program hit|FAIL)' "$log" | cut -c1-200)
  printf 'sanitize\t%s %s\t%s\t%s\t%s s\texit code %s\t%s\n' "$tool" "$name" "$verdict" "$errors" \
    $((SECONDS - begin)) "$rc" "$first" |
    tee -a "${TSV:-/dev/null}"
  if [ "$verdict" = FAIL ]; then
    sed 's/^/    /' "$log" | head -40
    return 1
  fi
}

for tool in ${TOOLS:-memcheck racecheck}; do
  for name in $names; do
    if [ "$SECONDS" -gt "${BUDGET:-100000}" ]; then
      echo "# no time for $tool $name"
      continue
    fi
    (one "$tool" "$name" || touch "$dir/failed.$tool.$name") &
    while [ "$(jobs -rp | wc -l)" -ge "${AT_ONCE:-1}" ]; do wait -n; done
  done
  wait
done
failures=$(find "$dir" -name 'failed.*' | wc -l)
passed=$(find "$dir" -name 'memcheck.*' -o -name 'racecheck.*' | wc -l)
echo "# sanitize: $passed runs, $failures with errors"
[ "$failures" = 0 ]
