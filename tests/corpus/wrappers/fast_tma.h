// A launcher for kernels that take two pointers to tensor maps in global memory.
#pragma once

// What the author's main file has in front of its kernels.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cuda/barrier>

#include <cassert>
#include <cstdint>

#include <tilepost/plan.h>

typedef __nv_bfloat16 bf16;

// The first is the kernel's A, which is our B, for its output is column-major.
__device__ CUtensorMap tensor_maps[2];

// Rows of k elements, in boxes of so many rows and 64 columns.
inline bool describe(CUtensorMap* map, const void* rows, int count, int k, int box) {
  const cuuint64_t sizes[] = {static_cast<cuuint64_t>(k), static_cast<cuuint64_t>(count)};
  const cuuint64_t strides[] = {sizes[0] * sizeof(bf16)};
  const cuuint32_t boxes[] = {64, static_cast<cuuint32_t>(box)}, steps[] = {1, 1};
  return cuTensorMapEncodeTiled(map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(rows),
                                sizes, strides, boxes, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

inline cudaError_t launch_with_maps(const tilepost_launch_call_t* call, int box_a, int box_b) {
  static CUtensorMap maps[2];  // a graph copies from here
  const tilepost_shape_t& shape = call->shape;
  if (!describe(&maps[0], call->b, shape.n, shape.k, box_a) ||
      !describe(&maps[1], call->a, shape.m, shape.k, box_b))
    return cudaErrorInvalidValue;
  cudaError_t error = cudaMemcpyToSymbolAsync(tensor_maps, maps, sizeof maps, 0,
                                              cudaMemcpyHostToDevice, call->config->stream);
  void* address = nullptr;
  if (error == cudaSuccess) error = cudaGetSymbolAddress(&address, tensor_maps);
  if (error != cudaSuccess) return error;
  int m = shape.n, n = shape.m, k = shape.k;
  void* out = call->out;
  const CUtensorMap* a = static_cast<const CUtensorMap*>(address);
  const CUtensorMap* b = a + 1;
  void* arguments[] = {&m, &n, &k, &out, &a, &b, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}
