// tile: 16 16
// threads: 16 16
// expect: 9: this stores into 'last', which is not the output 'C'
// The compiler copies a class member by member, with each member's own operator.
__device__ int last = 0;
struct Noted {
  int value;
  __device__ Noted& operator=(const Noted& other) {
    last = other.value;
    return *this;
  }
};
struct Pair {
  Noted noted;
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  Pair first, second;
  first = second;
  if (row < M && column < N) C[row * N + column] = sum;
}
