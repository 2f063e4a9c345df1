// tile: 16 16
// threads: 16 16
// expect: 13: this stores through a pointer that may point anywhere
// Local memory is stored to through a number that was made of an address.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  int skip = 0;
  unsigned long long window;
  asm("cvta.to.local.u64 %0, %1;" : "=l"(window) : "l"(&skip));
  skip = 0;
  asm volatile("st.local.u32 [%0], %1;" ::"l"(window), "r"(1) : "memory");
  if (skip == 0)
    if (row < M && column < N) C[row * N + column] = sum;
}
