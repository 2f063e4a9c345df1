// tile: 16 16
// threads: 16 16
// expect: 7: the body of 'put' is not in this file
__device__ void put(float* to);
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < M && column < N) put(C + row * N + column);
}
