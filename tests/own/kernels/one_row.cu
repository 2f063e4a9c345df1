// A vector times a matrix. Each warp sums up one element of the only row.
__global__ void one_row(const float* a, const float* b, float* c, int n, int k) {
  const int column = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (column >= n) return;
  float sum = 0;
  for (int i = lane; i < k; i += 32) sum += a[i] * b[column * k + i];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) c[column] = sum;
}
