// tile: 16 16
// threads: 16 16
// expect: 15: whether this store is reached depends on
// The parameter and the variable have one name, but they are two things.
namespace other {
__device__ float bias[4] = {};
}
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K,
                     const float* bias) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const bool odd = row % 2, inside = row < M && column < N;
  if (inside && (bias == nullptr ? odd : !odd)) C[row * N + column] = sum;
  if (inside && (other::bias == nullptr ? !odd : odd)) C[row * N + column] = sum;
}
