// tile: 64 128
// threads: 128
// shapes: 128x256 192x384
// order: columns_then_rows
// function: lib::gemm<64, 128, 32, 64, 4, 4>
namespace lib {
namespace detail {
template <int kRows, int kColumns>
__device__ void store(float* out, int ld, int row, int column, const float* values) {
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; j += 4) {
      float4 v;
      v.x = values[i * kColumns + j];
      v.y = values[i * kColumns + j + 1];
      v.z = values[i * kColumns + j + 2];
      v.w = values[i * kColumns + j + 3];
      *reinterpret_cast<float4*>(&out[(row + i) * ld + column + j]) = v;
    }
  }
}
}  // namespace detail
template <int BM, int BN, int WM, int WN, int TM, int TN>
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned warp_row = warp / (BN / WN), warp_column = warp % (BN / WN);
  constexpr unsigned kSubRows = 2, kSubColumns = 2;
  constexpr unsigned WSUBM = WM / kSubRows, WSUBN = WN / kSubColumns;
  const unsigned thread_column = lane % (WSUBN / TN), thread_row = lane / (WSUBN / TN);
  C += (blockIdx.y * BM + warp_row * WM) * N + blockIdx.x * BN + warp_column * WN;
  float sums[kSubRows * TM * kSubColumns * TN] = {0.0};
  for (unsigned r = 0; r < kSubRows; ++r) {
    for (unsigned c = 0; c < kSubColumns; ++c) {
      float* part = C + (r * WSUBM) * N + c * WSUBN;
      detail::store<TM, TN>(part, N, thread_row * TM, thread_column * TN,
                            sums + (r * kSubColumns + c) * TM * TN);
    }
  }
}
}  // namespace lib
