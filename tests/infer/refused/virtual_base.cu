// tile: 16 16
// threads: 16 16
// expect: 21: 'Last' has a virtual base, and who makes that is not followed
// Only the most derived class makes a virtual base. Here it makes the base without a store.
struct Base {
  __device__ Base(float* to, float value, bool stores) {
    if (stores) *to = value;
  }
};
struct Middle : virtual Base {
  __device__ Middle(float* to, float value, bool stores) : Base(to, value, stores) {}
};
struct Last : Middle {
  __device__ Last(float* to, float value, bool stores)
      : Base(to, value, false), Middle(to, value, stores) {}
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  Last last(C + row * N + column, sum, row < M && column < N);
}
