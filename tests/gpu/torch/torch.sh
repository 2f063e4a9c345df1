#!/usr/bin/env bash
# tilepost.torch on GPUs (check_torch.py, check_models.py).
#
#   torch.sh make <tilepost> <libtilepost.so> <folder> [ranks]   here: kernels, the package and its library, with CUDA
#   torch.sh run <folder> [ranks] [part …]                       there: needs python3 with torch, and NCCL
#   torch.sh models <folder> [part …]                            there: models and drop-ins on two ranks; transformers too
#   torch.sh measure <folder> [catalogue]                        there: python/bench on two GPUs, with the kernels of
#                                                                `tilepost catalogue --arch sm_90a` for the best times
#   torch.sh example <folder>                                    there: example 07 on two ranks
#   torch.sh graphs <folder> [catalogue]                         there: in which environments graphs of all forms replay
#                                                                in turn, and how the others end
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
  graphs)
    folder=$(realpath "$2") kernels=$(realpath "${3:-$2/kernels}")
    export NCCL_NVLS_ENABLE=0 PYTHONPATH=$folder/package${PYTHONPATH:+:$PYTHONPATH} PYTHONFAULTHANDLER=1
    cd "$folder/bench"
    # variant WHAT [NAME=VALUE …] [-- ARGUMENT …]: with this environment, and these arguments of layer.py besides.
    variant() {
      local what=$1 given=() status=0
      shift
      while [ $# -gt 0 ] && [ "$1" != -- ]; do given+=("$1") && shift; done
      env "${given[@]}" timeout "${SECONDS_EACH:-60}" torchrun --nproc-per-node 2 layer.py --model 8b --rows 8192 \
        --mode graph --rounds 2 --catalogue "$kernels" "${@:2}" >"graphs.log" 2>&1 || status=$?
      echo "$what: $status $(grep -oE '(SystemExit|[A-Z][A-Za-z]*Error|Fatal Python error): .*' graphs.log | tail -1)"
    }
    variant "all forms"
    variant "PyTorch's operations in all forms" TILEPOST=off
    variant "without async-TP" -- --without 'async-TP SP'
    variant "without NCCL in graphs" -- --without 'NCCL SP' 'async-TP SP'
    variant "buffers of graphs not registered with NCCL" NCCL_GRAPH_REGISTER=0
    variant "all modules loaded at once" CUDA_MODULE_LOADING=EAGER
    variant "NCCL's stack from the beginning" NCCL_SET_STACK_SIZE=1
    variant "one launch at a time" CUDA_LAUNCH_BLOCKING=1
    ;;
  example)
    folder=$(realpath "$2")
    export NCCL_NVLS_ENABLE=0 PYTHONPATH=$folder/package${PYTHONPATH:+:$PYTHONPATH} TILEPOST=strict
    one=()
    [[ -z ${ONE_GPU:-} ]] || one=("$folder/one_gpu.py")
    exec torchrun --nproc-per-node 2 "${one[@]}" "$folder/llama.py" --catalogue "$folder/kernels"
    ;;
  *)
    sed -n '2,15s/^# \?//p' "$0"
    exit 2
    ;;
esac
