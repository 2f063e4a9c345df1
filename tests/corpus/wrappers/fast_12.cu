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

#include "matmul_12.cuh"

// The output is column-major. So the kernel's M and N are tilepost's n and m, and a and b change
// places. A box of the output is wider than a panel, and the rest of the box is left out.
cudaError_t launch(const tilepost_launch_call_t* call, void*) {
  int m = call->shape.n, n = call->shape.m, k = call->shape.k;
  int* order = nullptr;
  CUtensorMap a, b, c;
  if (corpus::describe_panels(a, call->b, m, k, {64, 128, CU_TENSOR_MAP_SWIZZLE_128B}) !=
          CUDA_SUCCESS ||
      corpus::describe_panels(b, call->a, n, k, {64, 256, CU_TENSOR_MAP_SWIZZLE_128B}) !=
          CUDA_SUCCESS ||
      corpus::describe_panels(c, call->out, call->out_rows, m,
                              {72, 256, CU_TENSOR_MAP_SWIZZLE_NONE}) != CUDA_SUCCESS)
    return cudaErrorInvalidValue;
  void* arguments[] = {&m, &n, &k, &c, &a, &b, &order, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}
