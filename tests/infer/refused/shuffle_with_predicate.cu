// tile: 8 4
// threads: 32
// expect: 9: thread (0, 0) does not come here, where others wait for it by its name
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 8 + threadIdx.x / 4, column = blockIdx.x * 4 + threadIdx.x % 4;
  int sum = row;
  // A predicate leaves some lanes out.
  const int is_late = threadIdx.x > 2;
  asm volatile(
      "{ .reg .pred p; setp.ne.s32 p, %1, 0; @p shfl.sync.idx.b32 %0, %0, 3, 31, 0xffffffff; }"
      : "+r"(sum)
      : "r"(is_late));
  if (row < M && column < N) C[row * N + column] = sum;
}
