// tile: 8 32
// threads: 64 4
// order: columns_then_rows
// All lanes get the warp's number from lane 0. Shared memory is used from a rounded address on.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  extern __shared__ float memory[];
  float* const held =
      reinterpret_cast<float*>((reinterpret_cast<unsigned long long>(memory) + 127) & ~127ull);
  const int thread = threadIdx.y * 64 + threadIdx.x;
  const int warp = __shfl_sync(0xffffffff, thread / 32, 0), lane = threadIdx.x & 31;
  const int first = __shfl_sync(0xffffffff, lane, 3) - 3;
  const int row = blockIdx.y * 8 + warp + first, column = blockIdx.x * 32 + lane;
  held[warp * 32 + lane] = A[lane];
  __syncthreads();
  if (row >= M || column >= N) return;
  float sum = held[0] * 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  C[row * N + column] = sum;
}
