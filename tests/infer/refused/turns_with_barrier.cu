// tile: 16 16
// threads: 16 16
// numbers: M m N n K 20000
// expect: 12: others wait for threads here in a loop of more than 2000 turns
// expect: let the loop begin, go on and end in the same way in all threads
// All warps take the same number of turns, but that takes long to find out.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = threadIdx.y; k < K; k += 8) {
    sum += A[k] * B[k];
    __syncthreads();
  }
  if (row < M && column < N) C[row * N + column] = sum;
}
