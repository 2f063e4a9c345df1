// The launcher of the kernel.
#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

#include "tensor_map.h"

// The author's header needs CuTe's types before it.
#include <cute/tensor.hpp>
#include <deep_gemm/common/exception.cuh>

// Checks print their line, which is another line in generated code, so they are left out.
#undef DG_DEVICE_ASSERT
#define DG_DEVICE_ASSERT(condition) ((void)(condition))

#include <deep_gemm/impls/sm90_bf16_gemm.cuh>

namespace corpus {

inline cudaError_t launch(const tilepost_launch_call_t* call, void*) {
  unsigned m = call->shape.m, n = call->shape.n, k = call->shape.k;
  int* groups = nullptr;
  CUtensorMap a, b, c;
  const Box box{64, 128, CU_TENSOR_MAP_SWIZZLE_128B};
  if (describe(a, call->a, m, k, box) != CUDA_SUCCESS ||
      describe(b, call->b, n, k, box) != CUDA_SUCCESS ||
      describe(c, call->out, call->out_rows, n, box) != CUDA_SUCCESS)
    return cudaErrorInvalidValue;
  void* arguments[] = {&groups, &m, &n, &k, &a, &b, &c, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

}  // namespace corpus
