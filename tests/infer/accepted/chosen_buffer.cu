// tile: 16 16
// threads: 16 16
// order: columns_then_rows
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  __shared__ float first[16][16], second[16][16];
  float *one = &first[0][0], *two = &second[0][0];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  const int place = threadIdx.y * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) {
    const int turn = k % 2;
    float* buffer = turn == 0 ? one : two;
    buffer[place] = row < M ? A[row * K + k] : 0;
    __syncthreads();
    sum += buffer[place];
  }
  float* out = K > 0 ? C : C + 1;
  if (row < M && column < N) out[row * N + column] = sum;
}
