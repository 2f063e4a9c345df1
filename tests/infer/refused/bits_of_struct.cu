// tile: 16 16
// threads: 16 16
// expect: 9: the output pointer is in what is made another type here
struct Place {
  float* at;
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const Place place{C};
  float* const first = reinterpret_cast<float*>(__builtin_bit_cast(unsigned long long, place));
  if (threadIdx.x == 0 && threadIdx.y == 0) first[0] = 7;
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) C[row * N + column] = sum;
}
