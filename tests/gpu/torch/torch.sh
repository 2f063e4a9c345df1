#!/usr/bin/env bash
# tilepost.torch on GPUs (check_torch.py).
#
#   torch.sh make <tilepost> <libtilepost.so> <folder> [ranks]   here: kernels, the package and its library, with CUDA
#   torch.sh run <folder> [ranks] [part …]                       there: needs python3 with torch, and NCCL
#
# With ONE_GPU=1, `run` has all ranks on the first GPU, which take turns: that shows whether results are right, not how
# fast they come. The library must then be built with -DTILEPOST_TEST_ONE_GPU=ON.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
case ${1:-} in
  make)
    tool=$2 library=$3 folder=$4
    exports=$(nm -D --defined-only "$library")
    [[ $exports == *" tilepost_cuda_kernel_loader"* ]] || { echo "$library has no CUDA"; exit 1; }
    mkdir -p "$folder/specs" "$folder/package"
    python3 "$here/check_torch.py" specs "$folder/specs" "${5:-2}"
    "$tool" catalogue "$folder"/specs/*.yaml -o "$folder/kernels"
    rm -rf "$folder/package/tilepost"
    cp -r "$here/../../../python/tilepost" "$folder/package/tilepost"
    mkdir "$folder/package/tilepost/lib"
    cp "$library" "$folder/package/tilepost/lib/libtilepost.so"
    printf '"""What the library of this package has."""\n\nCUDA = True\n' >"$folder/package/tilepost/_built.py"
    cp "$here"/*.py "$here/torch.sh" "$folder"
    ;;
  run)
    folder=$2
    export NCCL_NVLS_ENABLE=0 PYTHONPATH=$folder/package${PYTHONPATH:+:$PYTHONPATH}
    exec python3 "$folder/check_torch.py" run "$folder/kernels" "${@:3}"
    ;;
  *)
    sed -n '2,9s/^# \?//p' "$0"
    exit 2
    ;;
esac
