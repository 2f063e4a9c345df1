// tile: 32 32
// threads: 32 32
// grid: rows columns
// order: rows_then_columns
// reads: yes
__global__ void gemm(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                     float* C) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < M && y < N) {
    float sum = 0.0f;
    for (int i = 0; i < K; ++i) sum += A[x * K + i] * B[i * N + y];
    C[x * N + y] = alpha * sum + beta * C[x * N + y];
  }
}
