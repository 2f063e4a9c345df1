// tile: 32 64
// threads: 32 4
// bytes: 2
// shapes: 128x192 90x130
// order: columns_then_rows
#include <cuda_fp16.h>
__global__ void gemm(const half* A, const half* B, half* C, int M, int N, int K) {
  half2* pairs = reinterpret_cast<half2*>(C);
  const int column = blockIdx.x * 64 + threadIdx.x * 2;
  for (int i = 0; i < 8; ++i) {
    const int row = blockIdx.y * 32 + i * 4 + threadIdx.y;
    if (row < M && column < N) pairs[(row * N + column) / 2] = __floats2half2_rn(1.0f, 2.0f);
  }
}
