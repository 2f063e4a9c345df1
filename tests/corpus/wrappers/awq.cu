// What the author's file has of PyTorch in front of it, which only its launch uses.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

namespace torch {
struct Tensor;
}

#include "gemm_cuda.cu"
