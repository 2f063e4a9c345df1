// The launcher of the kernel, with factors that are all one.
#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

#include "tensor_map.h"

// The author's header needs CuTe's types before it.
#include <cute/tensor.hpp>
#include <deep_gemm/common/exception.cuh>

// Checks print their line, which is another line in generated code, so they are left out.
#undef DG_DEVICE_ASSERT
#define DG_DEVICE_ASSERT(condition) ((void)(condition))

#include <deep_gemm/impls/sm90_fp8_gemm_1d2d.cuh>

namespace corpus {

// A factor for each row and each 128 elements of k, in any order.
struct Ones {
  float value[4096 * 16];
  constexpr Ones() : value() {
    for (float& each : value) each = 1;
  }
};
__device__ constexpr Ones kOnes;

inline cudaError_t launch(const tilepost_launch_call_t* call, void*) {
  unsigned m = call->shape.m, n = call->shape.n, k = call->shape.k;
  int* groups = nullptr;
  void* ones = nullptr;
  if (const cudaError_t error = cudaGetSymbolAddress(&ones, kOnes)) return error;
  float* factors_b = static_cast<float*>(ones);
  CUtensorMap a, b, c, factors_a;
  const Box of_inputs{128, 128, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_DATA_TYPE_UINT8};
  const Box of_factors{128, 1, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_DATA_TYPE_FLOAT32};
  if (describe(a, call->a, m, k, of_inputs) != CUDA_SUCCESS ||
      describe(b, call->b, n, k, of_inputs) != CUDA_SUCCESS ||
      describe(c, call->out, call->out_rows, n, {64, 128, CU_TENSOR_MAP_SWIZZLE_128B}) !=
          CUDA_SUCCESS ||
      describe(factors_a, ones, k / 128, (m + 3) / 4 * 4, of_factors) != CUDA_SUCCESS)
    return cudaErrorInvalidValue;
  void* arguments[] = {
      &factors_b, &groups, &m, &n,         &k,
      &a,         &b,      &c, &factors_a, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

}  // namespace corpus
