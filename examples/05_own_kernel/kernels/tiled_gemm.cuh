// C[m, n] = A[m, k] * B[n, k]^T in bf16, summed in fp32: a kernel as one may have it, which knows
// nothing of communication. A block computes kRows x kColumns elements.
#pragma once

#include <cuda_bf16.h>
#include <my/multiply.h>

namespace my {

template <int kRows, int kColumns>
__global__ void __launch_bounds__(kThreads)
    tiled_gemm(const __nv_bfloat16* __restrict__ a, const __nv_bfloat16* __restrict__ b,
               __nv_bfloat16* __restrict__ c, int m, int n, int k) {
  const Place block = place_of_block<kRows, kColumns>();
  const Place thread = place_of_thread<kColumns>();
  Sums sums;
  multiply<kRows, kColumns>(a, b, block, m, n, k, sums);
  for (int i = 0; i < kPerThread; ++i)
    for (int j = 0; j < kPerThread; ++j) {
      const int row = block.row + thread.row + i, column = block.column + thread.column + j;
      if (row < m && column < n) c[row * n + column] = __float2bfloat16(sums[i][j]);
    }
}

}  // namespace my
