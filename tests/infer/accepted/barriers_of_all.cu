// tile: 16 16
// threads: 16 16
// order: columns_then_rows
// All threads of a block take these loops and branches with barriers in the same way, because they
// read the same values or walk the same distance by pointers of their own.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float of_a[16][16], of_b[16][16];
  __shared__ int used;
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (threadIdx.x == 0 && threadIdx.y == 0) used = K;
  __syncthreads();
  const int end = used < 4 ? used : K;
  float sum = 0;
  int next = 0;
  for (int k = 0; k < end; k = next) {
    next = k + 16;
    if (A[k] < 0 && k > 64) break;
    if (B[blockIdx.x] > 0) __syncthreads();
    of_a[threadIdx.y][threadIdx.x] =
        row < M && k + threadIdx.x < K ? A[row * K + k + threadIdx.x] : 0;
    of_b[threadIdx.y][threadIdx.x] =
        column < N && k + threadIdx.y < K ? B[(k + threadIdx.y) * N + column] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += of_a[threadIdx.y][i] * of_b[i][threadIdx.x];
    __syncthreads();
  }
  const float* at = A + threadIdx.x;
  for (const float* const last = at + K; at < last; at += 16) {
    __syncthreads();
    sum += *at * 0;
  }
  for (int k = threadIdx.y; k < 64; k += 16) {
    __syncthreads();
    sum += A[k] * 0;
  }
  int turns = K / 16;
  while (turns-- > 0) __syncthreads();
  do {
    __syncthreads();
  } while (++turns < 8);
  if (row < M && column < N) C[row * N + column] = sum;
}
