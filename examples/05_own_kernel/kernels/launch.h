// The kernel as its author launches it.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

cudaError_t launch_tiled_gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c,
                              int m, int n, int k, cudaStream_t stream);
