// Declarations that the author's main file has before the kernel, and the kernel's launcher.
#include <cuda_bf16.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda/barrier>
#include <string>
#include <vector>

#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

#include "tensor_map.h"

typedef __nv_bfloat16 bf16;
#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define cudaCheck(error) ((void)(error))

#include "matmul_6.cuh"

// The output is column-major, so tilepost's m and n change places, and so do a and b.
cudaError_t launch(const tilepost_launch_call_t* call, void*) {
  int m = call->shape.n, n = call->shape.m, k = call->shape.k;
  bf16* c = static_cast<bf16*>(call->out);
  CUtensorMap a, b;
  if (corpus::describe(a, call->b, m, k, {64, 128, CU_TENSOR_MAP_SWIZZLE_128B}) != CUDA_SUCCESS ||
      corpus::describe(b, call->a, n, k, {64, 256, CU_TENSOR_MAP_SWIZZLE_128B}) != CUDA_SUCCESS)
    return cudaErrorInvalidValue;
  void* arguments[] = {&m, &n, &k, &c, &a, &b, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}
