// tile: 16 16
// threads: 16 16
// order: columns_then_rows
// An object in braces is copied: it is no first member of the other.
struct Place {
  int row, column;
};

__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const Place mine{(int)(blockIdx.y * 16 + threadIdx.y), (int)(blockIdx.x * 16 + threadIdx.x)};
  const Place at{mine};
  const Place both[2] = {at, {at}};
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[at.row * K + k] * B[k * N + at.column];
  if (at.row < M && both[1].column < N) C[both[0].row * N + both[1].column] = sum;
}
