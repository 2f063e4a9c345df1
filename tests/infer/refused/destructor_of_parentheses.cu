// tile: 16 16
// threads: 16 16
// expect: 8: this stores into 'last', which is not the output 'C'
// The object is made of its members in parentheses, and its destructor runs.
__device__ int last = 0;
struct Counted {
  float value;
  __device__ ~Counted() { last = 1; }
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  Counted counted(1.0f);
  if (row < M && column < N) C[row * N + column] = sum;
}
