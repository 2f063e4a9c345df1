// tile: 16 16
// threads: 16 16
// expect: 9: a statement of the kind StmtExpr is here, and which stores are reached cannot be seen
// A thread leaves in the middle of an expression, and does not reach the rest of it.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
  const int here = ({
    if (row == 5) return;
    row;
  });
  if (row < M && column < N) C[row * N + column] = sum;
}
