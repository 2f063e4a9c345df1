// The product of tiled_gemm.cuh with a scale for each column, and a launcher. The kernel's
// arguments are one structure, and one member of it is the caller's own.
#pragma once

#include <cuda_bf16.h>
#include <my/multiply.h>
#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

namespace my {

struct Params {
  const __nv_bfloat16* a;
  const __nv_bfloat16* b;
  __nv_bfloat16* c;
  const float* scales;  // of the columns, on the device; null: all are 1
  int m, n, k;
};

template <int kRows, int kColumns>
__global__ void __launch_bounds__(kThreads) scaled_gemm(const Params params) {
  const tilepost::TileGrid grid{
      (params.m + kRows - 1) / kRows, (params.n + kColumns - 1) / kColumns, kRows, kColumns, 1, 8};
  const Place thread = place_of_thread<kColumns>();
  for (int i = blockIdx.x; i < tilepost::num_tiles(grid); i += gridDim.x) {
    const tilepost::Tile tile = tilepost::tile(grid, i);
    __nv_bfloat16* const out = tilepost::out_base(params.c, grid, tile, params.n);
    Sums sums;
    multiply<kRows, kColumns>(params.a, params.b, {tile.m, tile.n}, params.m, params.n, params.k,
                              sums);
    for (int x = 0; x < kPerThread; ++x)
      for (int y = 0; y < kPerThread; ++y) {
        const int row = tile.m + thread.row + x, column = tile.n + thread.column + y;
        if (row >= params.m || column >= params.n || tile.is_padding()) continue;
        const float scale = params.scales ? params.scales[column] : 1.0f;
        out[row * params.n + column] = __float2bfloat16(scale * sums[x][y]);
      }
    tilepost::tile_done(tile, tilepost::BlockStores{});
  }
}

// `user` is what a run was given: the scales.
inline cudaError_t launch_scaled_gemm(const tilepost_launch_call_t* call, void* user) {
  const tilepost_shape_t& shape = call->shape;
  Params params{static_cast<const __nv_bfloat16*>(call->a),
                static_cast<const __nv_bfloat16*>(call->b),
                static_cast<__nv_bfloat16*>(call->out),
                static_cast<const float*>(user),
                shape.m,
                shape.n,
                shape.k};
  void* arguments[] = {&params, const_cast<tilepost_view_t*>(&call->view)};
  return cudaLaunchKernelExC(call->config, call->function, arguments);
}

}  // namespace my
