// tile: 16 16
// threads: 16 16
// grid: 4 4
// shapes: 128x192 64x320
// expect: 12: stores into tiles
// expect: if one block computes several tiles in this loop, take each from tilepost::tile(grid,
// position)
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  for (int tile = blockIdx.y * gridDim.x + blockIdx.x; tile < M * N / 256;
       tile += gridDim.x * gridDim.y) {
    C[(tile / (N / 16) * 16 + threadIdx.y) * N + tile % (N / 16) * 16 + threadIdx.x] = 1;
  }
}
