// A plain fp32 kernel. Each block has a tile, and each thread has four neighbours in a row.
template <int kRows, int kColumns>
__global__ void floats(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int kQuads = kColumns / 4;
  const int row = blockIdx.y * kRows + threadIdx.x / kQuads;
  const int column = blockIdx.x * kColumns + threadIdx.x % kQuads * 4;
  if (row >= m) return;
  float sums[4] = {};
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < 4; ++j) sums[j] += a[row * k + i] * b[(column + j) * k + i];
  *reinterpret_cast<float4*>(&c[row * n + column]) =
      make_float4(sums[0], sums[1], sums[2], sums[3]);
}
