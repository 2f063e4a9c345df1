// The launcher of the kernel, with the types that it has in the author's gemm_tn.
#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

#include "wgmma_tma_sm90.cu"

namespace corpus {

using namespace cute;

using Element = half_t;
using Problem = Shape<int, int, int>;
using Tiler = Shape<_128, _128, _64>;
using StrideC = Stride<_1, int>;
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<Element>{}, Shape<_128, _64, _3>{}));
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F16F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));

// The tensor map of rows of k elements, which are loaded in boxes of 128 x 64.
inline auto map_of(const void* from, int rows, int k) {
  Tensor all =
      make_tensor(static_cast<const Element*>(from), make_shape(rows, k), make_stride(k, _1{}));
  return make_tma_atom(SM90_TMA_LOAD{}, all, Smem{}(_, _, 0), Shape<_128, _64>{});
}
using Map = decltype(map_of(nullptr, 0, 0));

// The output is column-major, so tilepost's m and n change places, and so do a and b.
inline cudaError_t launch(const tilepost_launch_call_t* call, void*) {
  Problem problem{call->shape.n, call->shape.m, call->shape.k};
  Tiler tiler;
  const Element *a = static_cast<const Element*>(call->b),
                *b = static_cast<const Element*>(call->a);
  Element* c = static_cast<Element*>(call->out);
  Map map_a = map_of(a, call->shape.n, call->shape.k),
      map_b = map_of(b, call->shape.m, call->shape.k);
  StrideC stride(_1{}, call->shape.n);
  Mma mma;
  Element alpha(1.0f), beta(0.0f);
  void* arguments[] = {&problem, &tiler, &a,    &map_a,
                       &b,       &map_b, &c,    &stride,
                       &mma,     &alpha, &beta, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

}  // namespace corpus
