#!/usr/bin/env bash
# Runs example 01 under mpirun and torchrun, a process for each rank.
#
#   tilepost generate examples/01_build_time/ffn_down.yaml --arch sm_90a -D ranks=2 -o .carry/launchers
#   launchers.sh
#
# Environment: GENERATED (.carry/launchers) where ffn_down is, for as many ranks as there are GPUs; BUILD
# (build/launchers) where to build. Without mpirun or torchrun that part is skipped. The exit code is 1 if one
# has failed, 77 if none could run.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
generated=$(readlink -f "${GENERATED:-$root/.carry/launchers}")
build=${BUILD:-$root/build/launchers}
# A program that hangs in NVLink multicast may take the host's GPUs with it.
export NCCL_NVLS_ENABLE=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
[ -f "$generated/ffn_down.cu" ] || { echo "no ffn_down.cu in '$generated'"; exit 1; }
ranks=$(sed -n 's/.*kRanks = \([0-9]*\).*/\1/p' "$generated/ffn_down.h" | head -1)
mkdir -p "$build"
if ! { cmake -S "$root/tests/gpu" -B "$build" -DTILEPOST_GENERATED_DIR="$generated" \
         -DCMAKE_CUDA_ARCHITECTURES=90a -DCMAKE_BUILD_TYPE=Release &&
       cmake --build "$build" -j "$(nproc)" --target gpu_launch_torchrun; } >"$build/build.log" 2>&1; then
  tail -30 "$build/build.log"
  exit 1
fi
failed=0 run=0

# launch <name> <starter> <program> <words …>: skipped where one of the two is not there.
launch() {
  local name=$1 starter=$2 program=$3
  shift 3
  if ! command -v "$starter" >/dev/null || [ ! -x "$program" ]; then
    echo "SKIP $name: no $starter, or nothing compiled for it"
    return
  fi
  run=$((run + 1))
  if timeout 300 "$starter" "$@" "$program" >"$build/$name.log" 2>&1 &&
    [ "$(grep -c "summed over $ranks GPUs, 0 elements wrong" "$build/$name.log")" = "$ranks" ]; then
    echo "PASS $name: $ranks ranks"
  else
    echo "FAIL $name"
    cat "$build/$name.log"
    failed=1
  fi
}

cmake --build "$build" --target gpu_launch_mpi >"$build/mpi.log" 2>&1
program() { find "$build" -type f -name "$1" -perm -u+x | head -1; }
launch mpirun mpirun "$(program launch_mpi)" -np "$ranks"
launch torchrun torchrun "$(program launch_torchrun)" --no-python --standalone --nproc-per-node "$ranks"
[ "$run" -gt 0 ] || exit 77
exit "$failed"
