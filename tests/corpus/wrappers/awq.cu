// What PyTorch's headers bring along that the author's kernels use.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline_primitives.h>

#include <cstdint>
#include <type_traits>

// A hint to the caches is written where the compiler is new enough: it is.
#undef __CUDACC_VER_MAJOR__
#undef __CUDACC_VER_MINOR__
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0

#include "gemm_cuda.cu"
