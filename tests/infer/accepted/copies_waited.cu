// tile: 16 16
// threads: 256
// order: columns_then_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float stage[1024];
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(stage));
  for (int k = 0; k < K; k += 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + k), "l"(A + k));
    asm volatile("cp.async.commit_group;");
  }
  asm volatile("cp.async.wait_group %0;" ::"n"(0));
  __syncthreads();
  const int row = blockIdx.y * 16 + threadIdx.x / 16, column = blockIdx.x * 16 + threadIdx.x % 16;
  if (row < M && column < N) C[row * N + column] = stage[threadIdx.x];
}
