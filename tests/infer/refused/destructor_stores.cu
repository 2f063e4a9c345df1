// tile: 16 16
// threads: 16 16
// expect: 6: this stores through a pointer that may point anywhere
struct Clears {
  float* place;
  __device__ ~Clears() { *place = 0; }
};
struct Holds {
  Clears inner;
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  Holds holds{{C + 5}};
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) C[row * N + column] = sum;
}
