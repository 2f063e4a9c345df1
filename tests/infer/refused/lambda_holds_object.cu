// tile: 16 16
// threads: 16 16
// expect: 13: nothing is stored through 'C'
// The lambda has a copy of the object. The copy does not change when the object does.
struct Place {
  int skip = 0;
  __device__ bool skips() {
    auto was = [*this] { return skip; };
    skip = 1;
    return was();
  }
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  Place place;
  if (place.skips())
    if (row < M && column < N) C[row * N + column] = sum;
}
