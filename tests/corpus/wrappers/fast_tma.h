// The launcher of kernels that take pointers to tensor maps in global memory.
#pragma once

// Declarations that the author's main file has before its kernels.
#include <cuda_bf16.h>

#include <cassert>
#include <cstdint>
#include <cuda/barrier>

#include <tilepost/plan.h>

#include "tensor_map.h"

typedef __nv_bfloat16 bf16;
#define cudaCheck(error) ((void)(error))

__device__ CUtensorMap tensor_maps[2];

// The output is column-major. So the kernel's M and N are tilepost's n and m, and a and b change
// places. A box has 64 columns, and as many rows as the tile.
inline cudaError_t launch_with_maps(const tilepost_launch_call_t* call, unsigned rows_a,
                                    unsigned rows_b) {
  static CUtensorMap maps[2];  // a graph copies from here
  int m = call->shape.n, n = call->shape.m, k = call->shape.k;
  bf16* c = static_cast<bf16*>(call->out);
  if (corpus::describe(maps[0], call->b, m, k, {64, rows_a, CU_TENSOR_MAP_SWIZZLE_128B}) !=
          CUDA_SUCCESS ||
      corpus::describe(maps[1], call->a, n, k, {64, rows_b, CU_TENSOR_MAP_SWIZZLE_128B}) !=
          CUDA_SUCCESS)
    return cudaErrorInvalidValue;
  void* address = nullptr;
  cudaError_t error = cudaGetSymbolAddress(&address, tensor_maps);
  if (error == cudaSuccess)
    error =
        cudaMemcpyAsync(address, maps, sizeof maps, cudaMemcpyHostToDevice, call->config->stream);
  if (error != cudaSuccess) return error;
  const CUtensorMap *a = static_cast<const CUtensorMap*>(address), *b = a + 1;
  void* arguments[] = {&m, &n, &k, &c, &a, &b, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}
