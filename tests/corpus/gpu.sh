#!/usr/bin/env bash
# Marked public kernels on Hopper GPUs: each is audited by itself, and verified under AllReduce and ReduceScatter.
#
#   gpu.sh make TILEPOST SOURCES OUT RANKS…  where there are nvcc and NCCL: compiles OUT/audit, for one GPU,
#                                           OUT/bench, for one too, which has kernels of all kinds beside themselves
#                                           as they are unwoven, 4096 x 4096 x 4096, and OUT/ranks<N> for every
#                                           number of ranks; SOURCES as for check.py
#   gpu.sh run OUT PART…                    where the GPUs are: audit, ranks2, …
#
# ONLY="fc6m tk2m": these kernels alone.
set -uo pipefail
[ $# -ge 3 ] || { sed -n '2,8p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mode=${1:-} failed=0

benched='fc4 fc5 fc8m dg1m tk1m mt15 nwh5 tg1 awq1 fp6 sib12 liu3'

# specs TO PATTERN RANKS TRANSPORT [more words]: writes the specs into TO. The words are check.py's.
specs() {
  # shellcheck disable=SC2086
  python3 "$here/check.py" "$tool" "$here/kernels.txt" "$sources" ${ONLY:+--only $ONLY} \
    --write "$1" --pattern "$2" --ranks "$3" --transport "$4" "${@:5}" || exit 1
}

# compile NAME COMMAND…: compiles a harness into OUT/NAME and keeps only the program.
compile() {
  if "$tool" "${@:2}" "$out/specs/$1"/*.yaml --no-run --keep "$out/$1" >"$out/log" 2>&1; then
    rm -rf "$out/$1"/{obj,runtime,include,plain,programs} "$out/$1"/*.log
    return
  fi
  echo "FAIL $1 is not compiled"
  grep -v '^tilepost: compiling' "$out/log" | head -20
  failed=1
}

if [ "$1" = make ]; then
  tool=$2 sources=$3 out=$4
  shift 4
  mkdir -p "$out/specs"
  specs "$out/specs/audit" gemm 1 none
  compile audit verify --target cuda
  # shellcheck disable=SC2086
  specs "$out/specs/bench" gemm 1 none --size 4096x4096x4096 --only $benched
  compile bench bench
  for ranks in "$@"; do
    for pattern in gemm_all_reduce gemm_reduce_scatter; do
      for transport in nccl copy_engine; do
        specs "$out/specs/ranks$ranks" $pattern "$ranks" $transport
      done
    done
    compile "ranks$ranks" verify --target cuda
  done
  rm -rf "$out/specs" "$out/log"
else
  out=$2
  shift 2
  # A program that hangs in NVLink multicast may take the host's GPUs with it.
  export NCCL_NVLS_ENABLE=0
  for part in "$@"; do
    if [ "$part" = bench ]; then
      "$out/bench/harness" --mode cool --rounds 20 >"$out/bench.json" && python3 "$here/ratios.py" "$out/bench.json" || failed=1
    else
      "$out/$part/harness" --runs 2 || failed=1
    fi
  done
fi
[ $failed = 0 ] && echo "PASS: gpu.sh $mode"
exit $failed
