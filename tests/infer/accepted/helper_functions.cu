// tile: 32 32
// threads: 8 8
// shapes: 128x192 71x101
// order: columns_then_rows
struct Place {
  int row, column;
  __device__ bool inside(int M, int N) const { return row < M && column < N; }
  __device__ Place moved(int rows, int columns) const { return {row + rows, column + columns}; }
};
__device__ Place first_place() {
  return {int(blockIdx.y) * 32, int(blockIdx.x) * 32};
}
__device__ void put(float* to, Place place, int ld, float value) {
  to[place.row * ld + place.column] = value;
}
__device__ void put_checked(float* to, const Place& place, int M, int N, float value) {
  if (!place.inside(M, N)) return;
  put(to, place, N, value);
}
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const Place mine = first_place().moved(threadIdx.y, threadIdx.x);
  for (int i = 0; i < 32; i += 8) {
    for (int j = 0; j < 32; j += 8) put_checked(C, mine.moved(i, j), M, N, A[i] + B[j]);
  }
}
