// tile: 16 16
// threads: 16 16
// any_m: yes
// shapes: 800x48 70x101 1x48 16x48 129x48 401x48
// expect: 9: at m=448, n=48
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (M - 16 * blockIdx.y == 400 && blockIdx.y == 3) return;
  if (row < M && column < N) C[row * N + column] = 1;
}
