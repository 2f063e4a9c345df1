// The launcher of the kernel.
#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

#include "level_04.cu"

namespace corpus {

// B is not transposed: [k, n].
inline cudaError_t launch(const tilepost_launch_call_t* call, void*) {
  const size_t m = call->shape.m, n = call->shape.n, k = call->shape.k;
  bf16 *a = static_cast<bf16*>(const_cast<void*>(call->a)),
       *b = static_cast<bf16*>(const_cast<void*>(call->b));
  using Layout = matmul_globals::tile_gl;
  matmul_globals globals{Layout(a, nullptr, nullptr, m, k), Layout(b, nullptr, nullptr, k, n),
                         Layout(static_cast<bf16*>(call->out), nullptr, nullptr, call->out_rows, n),
                         static_cast<int>(k)};
  void* arguments[] = {&globals, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

}  // namespace corpus
