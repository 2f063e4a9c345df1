// tile: 16 16
// threads: 16 16
// expect: 13: a function is called through a pointer here
__device__ void put_a(float* to, float x) {
  *to = x;
}
__device__ void put_b(float* to, float x) {
  *to = x + 1;
}
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  void (*put)(float*, float) = row % 2 ? put_a : put_b;
  if (row < M && column < N) put(&C[row * N + column], 1);
}
