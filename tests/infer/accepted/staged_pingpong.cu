// tile: 32 32
// threads: 256
// shapes: 128x192 90x100
// order: columns_then_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  extern __shared__ float memory[];
  float* reading = memory;
  float* writing = memory + 32 * 32;
  int stage = 0;
  for (int k = 0; k < K; k += 32) {
    for (int i = threadIdx.x; i < 32 * 32; i += 256) writing[i] = A[k + i];
    __syncthreads();
    float* other = reading;
    reading = writing;
    writing = other;
    stage ^= 1;
    if (stage) A += 32;
  }
  for (int i = 0; i < 4; ++i) {
    const int at = threadIdx.x + i * 256;
    const int row = blockIdx.y * 32 + at / 32, column = blockIdx.x * 32 + at % 32;
    if (row < M && column < N) C[row * N + column] = reading[at];
  }
}
