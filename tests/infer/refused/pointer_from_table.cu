// tile: 16 16
// threads: 16 16
// expect: 16: this stores through a pointer that may point anywhere
// Only some threads set the pointer of the structure. In the others it may point anywhere.
struct Place {
  float* to;
  int count;
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  __shared__ float own[4];
  Place place = ((const Place*)A)[0];
  if (threadIdx.x == 0) place.to = own;
  place.to[0] = 1;
  if (row < M && column < N) C[row * N + column] = sum;
}
