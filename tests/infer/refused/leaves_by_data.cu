// tile: 16 16
// threads: 16 16
// expect: 11: may have left the kernel before others wait for it here
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float shared[16];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K && row < M && column < N; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) C[row * N + column] = sum;
  if (B[threadIdx.x] > 0.5f) return;
  __syncthreads();
  shared[threadIdx.y] = sum;
}
