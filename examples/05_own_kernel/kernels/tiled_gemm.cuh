// C[m, n] = A[m, k] * B[n, k]^T in bf16, summed in fp32: a kernel as one may have it, which knows
// nothing of communication. A block computes kRows x kColumns elements, TILE_K of k at a time.
#pragma once

#include <cuda_bf16.h>
#include <my/tile.h>

namespace my {

template <int kRows, int kColumns>
__global__ void __launch_bounds__(kThreads)
    tiled_gemm(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
               __nv_bfloat16* __restrict__ c, int m, int n, int k) {
  __shared__ float rows[TILE_K][kRows];
  __shared__ float columns[TILE_K][kColumns];
  const Place block = place_of_block<kRows, kColumns>();
  const Place thread = place_of_thread<kColumns>();
  float sums[kPerThread][kPerThread] = {};
  for (int first = 0; first < k; first += TILE_K) {
    for (int i = threadIdx.x; i < kRows * TILE_K; i += kThreads) {
      const int row = block.row + i / TILE_K, at = first + i % TILE_K;
      rows[i % TILE_K][i / TILE_K] = row < m && at < k ? __bfloat162float(a[row * k + at]) : 0.0f;
    }
    for (int i = threadIdx.x; i < kColumns * TILE_K; i += kThreads) {
      const int column = block.column + i / TILE_K, at = first + i % TILE_K;
      columns[i % TILE_K][i / TILE_K] =
          column < n && at < k ? __bfloat162float(b[column * k + at]) : 0.0f;
    }
    __syncthreads();
    for (int at = 0; at < TILE_K; ++at)
      for (int i = 0; i < kPerThread; ++i)
        for (int j = 0; j < kPerThread; ++j)
          sums[i][j] += rows[at][thread.row + i] * columns[at][thread.column + j];
    __syncthreads();
  }
  for (int i = 0; i < kPerThread; ++i)
    for (int j = 0; j < kPerThread; ++j) {
      const int row = block.row + thread.row + i, column = block.column + thread.column + j;
      if (row < m && column < n) c[row * n + column] = __float2bfloat16(sums[i][j]);
    }
}

}  // namespace my
