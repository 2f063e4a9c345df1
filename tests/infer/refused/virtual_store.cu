// tile: 16 16
// threads: 16 16
// expect: 16: 'store' is virtual
struct Plain {
  __device__ virtual void store(float* at, float value) { *at = value; }
};
struct Next : Plain {
  __device__ void store(float* at, float value) override { at[1] = value; }
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K && row < M && column < N; ++k) sum += A[row * K + k] * B[k * N + column];
  Next next;
  Plain& store = next;
  if (row < M && column < N) store.store(C + row * N + column, sum);
}
