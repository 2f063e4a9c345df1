// tile: 16 16
// threads: 16 16
// shapes: 128x192 70x101
// order: columns_then_rows
// References and pointers lead to one of two variables, by conditions that depend on the thread or
// on data. The variables change in between, also through these.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  int even = 0, odd = 0;
  int& mine = threadIdx.x % 2 == 0 ? even : odd;
  mine = column;
  mine += 1;
  const int place = threadIdx.x % 2 == 0 ? even : odd;
  float sum = 0, lost = 0;
  float& into = A[0] < 0 ? lost : sum;
  int steps[2] = {row * N, row * N};
  const int* step = A[1] < 0 ? steps : &steps[1];
  int first = row * N, second = row * N;
  const int* start = B[0] < B[1] ? &first : &second;
  second += 0 * threadIdx.x;
  for (int k = 0; k < K; ++k) into += A[row * K + k] * B[k * N + column];
  if (row < M && column < N) C[(place == column + 1 ? *start : *step) + column] = sum + lost;
}
