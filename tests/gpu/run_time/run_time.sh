#!/usr/bin/env bash
# Programs made at run time, on GPUs, from Python (run_time.py).
#
#   run_time.sh make <tilepost> <libtilepost.so> <folder>   here: the kernels, the package and its library, which has CUDA
#   run_time.sh run <folder> [<GPUs>]                       there: needs python3 with torch, and NCCL
#   run_time.sh same <folder>                               there, with one GPU for two ranks
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
  make)
    tool=$2 library=$3 folder=$4
    exports=$(nm -D --defined-only "$library")
    [[ $exports == *" tilepost_cuda_kernel_loader"* ]] || { echo "$library has no CUDA"; exit 1; }
    rm -rf "$folder"
    mkdir -p "$folder/specs" "$folder/package"
    python3 "$here/run_time.py" specs "$folder/specs"
    "$tool" catalogue "$folder"/specs/*.yaml -o "$folder/kernels"
    cp -r "$here/../../../python/tilepost" "$folder/package/tilepost"
    mkdir "$folder/package/tilepost/lib"
    cp "$library" "$folder/package/tilepost/lib/libtilepost.so"
    printf '"""What the library of this package has."""\n\nCUDA = True\n' >"$folder/package/tilepost/_built.py"
    cp "$here/run_time.py" "$folder"
    ;;
  run)
    PYTHONPATH=$2/package exec python3 "$2/run_time.py" run "$2/kernels" "${3:-2}"
    ;;
  same)
    PYTHONPATH=$2/package exec python3 "$2/run_time.py" same "$2/kernels"
    ;;
  *)
    sed -n '2,6s/^# \?//p' "$0"
    exit 2
    ;;
esac
