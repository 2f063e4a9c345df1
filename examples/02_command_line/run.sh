#!/usr/bin/env bash
# Generates proj for a shape given here, builds it by hand and runs it.
#
#   run.sh [-a host|80|90a] [-o DIR] [M N K]
#
# Needs tilepost on PATH, installed or from a build folder. For a CUDA architecture it also needs nvcc, NCCL and, to run,
# as many GPUs as ranks; without GPUs it stops after the build.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
arch=host out=$here/build
while getopts a:o: flag; do
  case $flag in
    a) arch=$OPTARG ;;
    o) out=$OPTARG ;;
    *) exit 2 ;;
  esac
done
shift $((OPTIND - 1))
m=${1:-512} n=${2:-320} k=${3:-96}

tool=$(command -v tilepost) || { echo "run.sh: no tilepost on PATH; install it, or add bin of a build folder" >&2; exit 1; }
prefix=$(dirname "$(dirname "$(readlink -f "$tool")")")
for library in "$prefix"/lib*/libtilepost_core.a "$prefix"/lib/*/libtilepost_core.a; do
  [ -e "$library" ] && lib=$(dirname "$library")
done
include=$prefix/include
[ -d "$include/tilepost" ] || include=$here/../../include  # a build folder has none of its own
[ -n "${lib:-}" ] || { echo "run.sh: no libtilepost_core.a under $prefix/lib" >&2; exit 1; }

show() { echo "+ $*"; "$@"; }

# A new shape: -D overrides a field of the spec.
if [ "$arch" = host ]; then name_of_arch=host; else name_of_arch=sm_$arch; fi
show tilepost generate "$here/proj.yaml" --arch "$name_of_arch" \
  -D gemm.m="$m" -D gemm.n="$n" -D gemm.k="$k" -o "$out"

if [ "$arch" = host ]; then
  show "${CXX:-g++}" -std=c++20 -O2 -I"$out" -I"$include" "$here/main.cpp" "$out/proj.cpp" \
    -L"$lib" -ltilepost_host -ltilepost_core -pthread -o "$out/proj"
else
  # The program does not name nvcc's own libraries; the driver and NCCL are the runtime's.
  show "${CUDACXX:-nvcc}" -std=c++20 -O2 -gencode "arch=compute_$arch,code=sm_$arch" \
    -DPROJ_ON_GPUS -I"$out" -I"$include" "$here/main.cpp" "$out/proj.cu" \
    -L"$lib" -ltilepost_cuda -ltilepost_core -lnccl -lcuda -o "$out/proj"
  if ! nvidia-smi -L >/dev/null 2>&1; then
    echo "built $out/proj; not run, for there is no GPU here"
    exit 0
  fi
fi
show "$out/proj"
