// tile: 16 16
// threads: 16 16
// expect: 10: an expression that is not understood has an address here
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) C[row * N + column] = sum;
  // This is GNU's function, which some versions of nvcc accept.
  __atomic_fetch_add(reinterpret_cast<int*>(C), 1, 0);
}
