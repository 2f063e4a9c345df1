// tile: 16 16
// threads: 16 16
// nulls: bias scales locks
// order: columns_then_rows
__device__ float scale_at(const float* scales, int column) {
  return scales ? scales[column] : 1.0f;
}

__global__ void gemm(const float* A, const float* bias, const float* scales, int* locks, float* C,
                     int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row >= M || column >= N) return;
  const float* own_bias = bias;
  float sum = own_bias != nullptr ? bias[column] : 0.0f;
  for (int i = 0; i < K; ++i) sum += A[row * K + i] * scale_at(scales, column);
  int* const lock = locks + 0;
  if (locks && threadIdx.x == 0) *lock = 1;
  if (!bias || K == 0) C[row * N + column] = sum;
  if (nullptr == bias) return;
  C[row * N + column] = own_bias[column];
}
