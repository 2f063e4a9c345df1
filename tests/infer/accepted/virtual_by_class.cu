// tile: 16 16
// threads: 16 16
// order: columns_then_rows
// Each object's class is known, and so is the virtual function that is called.
struct Plain {
  __device__ virtual void store(float* at, float value) { *at = value; }
};
struct Next : Plain {
  __device__ void store(float* at, float value) override { at[1] = value; }
};
struct Last final : Next {
  __device__ void store(float* at, float value) final { *at = value; }
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K && row < M && column < N; ++k) sum += A[row * K + k] * B[k * N + column];
  Next next;
  Last last;
  asm volatile("/* no ; st.global.f32 [%0], 0; */ bar.sync 2, 256; // of all" ::"l"(C));
  if (row < M && column < N) {
    if (threadIdx.x % 2 == 0)
      next.Plain::store(C + row * N + column, sum);
    else
      last.store(C + row * N + column, sum);
  }
}
