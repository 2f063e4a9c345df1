// tile: 16 16
// threads: 16 16
// expect: 6: blocks depend on each other here
__device__ int counter = 0;
struct Counted {
  __device__ ~Counted() { atomicAdd(&counter, 1); }
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const Counted counted;
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) C[row * N + column] = sum;
}
