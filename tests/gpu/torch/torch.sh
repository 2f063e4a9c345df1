#!/usr/bin/env bash
# tilepost.torch on GPUs (check_torch.py, check_models.py).
#
#   torch.sh make <tilepost> <libtilepost.so> <folder> [ranks]   here: kernels, the package and its library, with CUDA
#   torch.sh run <folder> [ranks] [part …]                       there: needs python3 with torch, and NCCL
#   torch.sh models <folder> [part …]                            there: models and drop-ins on two ranks; transformers too
#   torch.sh measure <folder> [catalogue]                        there: python/bench on two GPUs, with the kernels of
#                                                                `tilepost catalogue --arch sm_90a` for the best times
#   torch.sh example <folder>                                    there: example 07 on two ranks
#
# With ONE_GPU=1 all ranks are on the first GPU, which take turns: that shows whether results are right, not how fast they
# come; `measure` then runs small sizes. The library must be built with -DTILEPOST_TEST_ONE_GPU=ON.
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
    cp -r "$here/../../../python/bench" "$here/../../../examples/07_pytorch/llama.py" "$folder"
    ;;
  run)
    folder=$(realpath "$2")
    export NCCL_NVLS_ENABLE=0 PYTHONPATH=$folder/package${PYTHONPATH:+:$PYTHONPATH}
    exec python3 "$folder/check_torch.py" run "$folder/kernels" "${@:3}"
    ;;
  models)
    folder=$(realpath "$2")
    export NCCL_NVLS_ENABLE=0 PYTHONPATH=$folder/package${PYTHONPATH:+:$PYTHONPATH}
    exec python3 "$folder/check_models.py" "$folder/kernels" "${@:3}"
    ;;
  measure)
    folder=$(realpath "$2") kernels=$(realpath "${3:-$2/kernels}")
    export NCCL_NVLS_ENABLE=0 PYTHONPATH=$folder/package${PYTHONPATH:+:$PYTHONPATH} PYTHONFAULTHANDLER=1
    cd "$folder/bench"
    one=()
    [[ -z ${ONE_GPU:-} ]] || one=(../one_gpu.py)
    # A form that hangs, or a library without kernels for a shape, must not cost the others.
    bench() {
      timeout "${SECONDS_EACH:-240}" torchrun --nproc-per-node 2 "${one[@]}" "$@" --catalogue "$kernels" || echo "# $1: $?"
    }
    if [[ -n ${ONE_GPU:-} ]]; then
      # Ranks on one GPU have no symmetric memory of PyTorch's.
      bench layer.py --model 8b --rows 1024 64 --rounds 1 --without 'async-TP SP'
      bench layer.py --model 8b --rows 1024 --rounds 1 --train
      bench model.py --layers 2 --prefill 1024 --decode 8 --rounds 1
      exit
    fi
    bench layer.py --model 8b 70b --rows 8192 2048 512 64
    bench layer.py --model 8b --rows 8192 --train
    bench model.py --prefill 2048 8192 --decode 1 8 64
    ;;
  example)
    folder=$(realpath "$2")
    export NCCL_NVLS_ENABLE=0 PYTHONPATH=$folder/package${PYTHONPATH:+:$PYTHONPATH} TILEPOST=strict
    one=()
    [[ -z ${ONE_GPU:-} ]] || one=("$folder/one_gpu.py")
    exec torchrun --nproc-per-node 2 "${one[@]}" "$folder/llama.py" --catalogue "$folder/kernels"
    ;;
  *)
    sed -n '2,13s/^# \?//p' "$0"
    exit 2
    ;;
esac
