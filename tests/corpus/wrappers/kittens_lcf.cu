// The launcher of the framework's kernel, with the author's callbacks.
#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

#include "bf16_h100_gemm.cu"

namespace corpus {

using Matmul = matmul_template<2, 4, 8>;

// B is not transposed: [k, n].
inline cudaError_t launch(const tilepost_launch_call_t* call, void*) {
  using Layout = Matmul::layout::global_layout;
  const size_t m = call->shape.m, n = call->shape.n, k = call->shape.k;
  bf16 *a = static_cast<bf16*>(const_cast<void*>(call->a)),
       *b = static_cast<bf16*>(const_cast<void*>(call->b));
  Matmul::layout::globals globals{
      Layout(a, nullptr, nullptr, m, k), Layout(b, nullptr, nullptr, k, n),
      Layout(static_cast<bf16*>(call->out), nullptr, nullptr, call->out_rows, n)};
  void* arguments[] = {&globals, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

}  // namespace corpus
