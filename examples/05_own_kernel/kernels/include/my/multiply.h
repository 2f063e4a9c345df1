// The main loop of all kernels here.
#pragma once

#include <cuda_bf16.h>
#include <my/tile.h>

namespace my {

using Sums = float[kPerThread][kPerThread];

// The block's kRows x kColumns sums from `block` on, of which each thread gets its own. TILE_K of k
// at a time go through shared memory.
template <int kRows, int kColumns>
__device__ void multiply(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
                         Place block, int m, int n, int k, Sums& sums) {
  __shared__ float rows[TILE_K][kRows];
  __shared__ float columns[TILE_K][kColumns];
  const Place thread = place_of_thread<kColumns>();
  for (int i = 0; i < kPerThread; ++i)
    for (int j = 0; j < kPerThread; ++j) sums[i][j] = 0;
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
}

}  // namespace my
