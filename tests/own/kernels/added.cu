// A batch of products.
__global__ void batched(const float* const* a, const float* const* b, float* const* d, int n, int k) {
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[blockIdx.z][row * k + i] * b[blockIdx.z][column * k + i];
  d[blockIdx.z][row * n + column] = sum;
}
