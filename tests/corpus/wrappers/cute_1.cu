// The launcher of the kernel, with the types that it has in the author's gemm_tn.
#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

#include "sgemm_1.cu"

namespace corpus {

using namespace cute;

using Problem = Shape<int, int, int>;
using Tiler = Shape<_128, _128, _8>;
using StrideK = Stride<int, _1>;
using StrideC = Stride<_1, int>;
using Smem = decltype(make_layout(Shape<_128, _8>{}, LayoutRight{}));
using SmemC = decltype(make_layout(Shape<_128, _128>{}));
using Threads = decltype(make_layout(Shape<_32, _8>{}, LayoutRight{}));
using ThreadsC = decltype(make_layout(Shape<_16, _16>{}));

// The output is column-major, so tilepost's m and n change places, and so do a and b.
inline cudaError_t launch(const tilepost_launch_call_t* call, void*) {
  Problem problem{call->shape.n, call->shape.m, call->shape.k};
  const float *a = static_cast<const float*>(call->b), *b = static_cast<const float*>(call->a);
  float *c = static_cast<float*>(call->out), alpha = 1, beta = 0;
  StrideK stride(call->shape.k, _1{});
  StrideC stride_c(_1{}, call->shape.n);
  Tiler tiler;
  Smem smem;
  SmemC smem_c;
  Threads threads;
  ThreadsC threads_c;
  void* arguments[] = {&problem,
                       &tiler,
                       &a,
                       &stride,
                       &smem,
                       &threads,
                       &b,
                       &stride,
                       &smem,
                       &threads,
                       &c,
                       &stride_c,
                       &smem_c,
                       &threads_c,
                       &alpha,
                       &beta,
                       const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

}  // namespace corpus
