// The launcher of the kernel, with the types that it has in the author's gemm_tn for half_t.
#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

#include "sgemm_sm80.cu"

namespace corpus {

using namespace cute;

using Element = half_t;
using Problem = Shape<int, int, int>;
using Tiler = Shape<_128, _128, _64>;
using StrideK = Stride<int, _1>;
using StrideC = Stride<_1, int>;
using Atom = decltype(composition(Swizzle<3, 3, 3>{},
                                  Layout<Shape<_8, Shape<_8, _8>>, Stride<_8, Stride<_1, _64>>>{}));
using Smem = decltype(tile_to_shape(Atom{}, Shape<_128, _64, _3>{}));
using SmemC = decltype(make_layout(Shape<_128, _128>{}));
using Copy =
    decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, Element>{},
                             Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using ToRegisters = Copy_Atom<SM75_U32x4_LDSM_N, Element>;
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN{}, Layout<Shape<_2, _2>>{},
                                    Tile<_32, _32, _16>{}));

// The output is column-major, so tilepost's m and n change places, and so do a and b.
inline cudaError_t launch(const tilepost_launch_call_t* call, void*) {
  Problem problem{call->shape.n, call->shape.m, call->shape.k};
  const Element *a = static_cast<const Element*>(call->b),
                *b = static_cast<const Element*>(call->a);
  Element *c = static_cast<Element*>(call->out), alpha(1.0f), beta(0.0f);
  StrideK stride(call->shape.k, _1{});
  StrideC stride_c(_1{}, call->shape.n);
  Tiler tiler;
  Smem smem;
  SmemC smem_c;
  Copy copy;
  ToRegisters to_registers;
  Mma mma;
  void* arguments[] = {&problem,
                       &tiler,
                       &a,
                       &stride,
                       &smem,
                       &copy,
                       &to_registers,
                       &b,
                       &stride,
                       &smem,
                       &copy,
                       &to_registers,
                       &c,
                       &stride_c,
                       &smem_c,
                       &mma,
                       &alpha,
                       &beta,
                       const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

}  // namespace corpus
