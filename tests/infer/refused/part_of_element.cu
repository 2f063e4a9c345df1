// tile: 16 16
// threads: 16 16
// expect: 7: stores a part of an element
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  char* bytes = reinterpret_cast<char*>(C);
  if (row < M && column < N) bytes[(row * N + column) * 4] = 1;
}
