// tile: 16 16
// threads: 16 16
// shapes: 64x96 40x50
// expect: 10: the output may be read here, and which of its elements cannot be seen
__global__ void gemm(int M, int N, int K, float* A, float* B, float* C) {
  __shared__ float old[256];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const unsigned to =
      static_cast<unsigned>(__cvta_generic_to_shared(&old[threadIdx.y * 16 + threadIdx.x]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&C[row * N + column]));
  asm volatile("cp.async.wait_all;");
  if (row < M && column < N)
    C[row * N + column] = A[row * K] * B[column] + old[threadIdx.y * 16 + threadIdx.x];
}
