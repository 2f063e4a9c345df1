// tile: 16 32
// threads: 32 4
// order: columns_then_rows
struct Output {
  float* data;
  int ld, rows, columns;
  __device__ Output(float* d, int l, int r, int c) : data(d), ld(l), rows(r), columns(c) {}
  __device__ float& operator()(int r, int c) const { return data[r * ld + c]; }
  __device__ bool has(int r, int c) const { return r < rows && c < columns; }
};
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const Output out(C, N, M, N);
  for (int i = 0; i < 4; ++i) {
    const int row = blockIdx.y * 16 + i * 4 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
    if (!out.has(row, column)) continue;
    float& element = out(row, column);
    element = A[i];
  }
}
