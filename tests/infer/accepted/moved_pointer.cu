// tile: 32 32
// threads: 1024
// shapes: 128x192 96x160
// order: columns_then_rows
// function: gemm<32>
template <int kTile>
__global__ void gemm(int M, int N, int K, const float* A, const float* B, float* C) {
  const unsigned rows = blockIdx.y, columns = blockIdx.x;
  __shared__ float a[kTile * kTile], b[kTile * kTile];
  const unsigned column = threadIdx.x % kTile, row = threadIdx.x / kTile;
  A += rows * kTile * K;
  B += columns * kTile;
  C += rows * kTile * N + columns * kTile;
  float sum = 0;
  for (int k = 0; k < K; k += kTile) {
    a[row * kTile + column] = A[row * K + column];
    b[row * kTile + column] = B[row * N + column];
    __syncthreads();
    A += kTile;
    B += kTile * N;
    for (int i = 0; i < kTile; ++i) sum += a[row * kTile + i] * b[i * kTile + column];
    __syncthreads();
  }
  C[row * N + column] = sum;
}
