#!/usr/bin/env bash
# Runs what pack.sh has packed: each harness without and with kernel_times.so, in turns.
#
#   run.sh RESULTS [STEM …]     from any folder; STEMs of stems.txt, all by default
#
# Environment: ROUNDS (9) samples of each variant in each mode, TURNS (1), EACH (40) seconds at most for a program,
# BUDGET (115) seconds after which no other program starts. Then: outside.py RESULTS
#
# A program that fails leaves the others to run; the exit code is 1 if one has failed or was left out.
set -uo pipefail
[ $# -ge 1 ] || { sed -n '2,8p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
results=$(cd "$1" && pwd)
shift
stems=" $* "
failed=()
# A program that hangs in NVLink multicast may take the host's GPUs with it.
export NCCL_NVLS_ENABLE=0
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/cuda/lib64

# one NAME PROGRAM FLAG …: writes NAME.jsonl and NAME.log.
one() {
  local name=$1 begin=$SECONDS
  shift
  if ((SECONDS > ${BUDGET:-115})); then
    echo "left out: $name"
    failed+=("$name")
    return
  fi
  timeout -k 5 "${EACH:-40}" "$@" >"$results/$name.jsonl" 2>"$results/$name.log" </dev/null
  local rc=$?
  [ "$rc" = 0 ] || failed+=("$name")
  echo "$name: exit code $rc after $((SECONDS - begin)) s, $(wc -l <"$results/$name.jsonl") records"
}

# both STEM TURN PROGRAM FLAG …: runs the program without and with kernel_times.so.
both() {
  local name=$1.$2
  shift 2
  one "$name.plain" "$@"
  CUDA_INJECTION64_PATH=$here/kernel_times.so TILEPOST_KERNEL_TIMES=$results/$name.kernels.txt \
    one "$name.traced" "$@"
}

cp "$here/programs.tsv" "$results"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader >"$results/gpus.txt" 2>&1
for turn in $(seq "${TURNS:-1}"); do
  both empty "$turn" "$here/empty" "${ROUNDS:-9}"
  while read -r stem flags; do
    [ "$stems" = "  " ] || [[ $stems == *" $stem "* ]] || continue
    # shellcheck disable=SC2086 # flags are words
    both "$stem" "$turn" "$here/harness_$stem" --seed 1 --rounds "${ROUNDS:-9}" --mode cool $flags
  done <"$here/stems.txt"
done
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
