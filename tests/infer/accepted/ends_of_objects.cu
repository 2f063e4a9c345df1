// tile: 16 16
// threads: 16 16
// order: columns_then_rows
// Destructors run at the ends of scopes. They store nothing outside their objects.
struct Counted {
  int turns = 0;
  __device__ ~Counted() { turns = 0; }
};
struct Held {
  Counted counted;
  const float* from;
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  Held held{{}, A};
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k, ++held.counted.turns)
    sum += held.from[row * K + k] * B[k * N + column];
  if (row < M && column < N) C[row * N + column] = sum;
}
