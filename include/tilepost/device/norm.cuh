// The arithmetic of rows that are normalised (TILEPOST_CONSUMER_RMS_NORM and
// TILEPOST_CONSUMER_RESIDUAL_RMS_NORM). Two places use it: a kernel behind the last collective, and
// the helper warps of a kernel that exchanges tiles.
//
//   y = x, or x + residual rounded to the type
//   out = y * rsqrt(mean(y * y) + epsilon) * weight
//
// in fp32. The code says which product is fused with a sum, and the order in which squares are
// added follows from the row's length alone. So both places compute the same bits for a row.
#ifndef TILEPOST_DEVICE_NORM_CUH
#define TILEPOST_DEVICE_NORM_CUH

#include <cstdint>

#include "tilepost/device/element.cuh"

namespace tilepost::norm {

// ---- The order

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;  // per row

// How many elements of a row a thread has, as long as there are threads for more. An access moves
// `width` elements. A thread has sixteen elements, or four accesses if accesses are narrow.
constexpr int held_elements(int width) {
  return width >= 4 ? 16 : 4 * width;
}

// Number of threads that a row of n elements is divided among, in whole warps. Each thread has
// every threads_of()-th access of the row. It adds up the squares of its accesses one after the
// other. Then a warp adds up its threads' sums (warp_sum), and at last the sums of all warps are
// added up in the same way.
constexpr int threads_of(int n, int width) {
  const int of_warp = kWarp * held_elements(width);
  const int threads = (n + of_warp - 1) / of_warp * kWarp;
  return threads < kMostThreads ? threads : kMostThreads;
}

// The sum of `value` over the lanes of a warp, in all lanes.
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value += __shfl_xor_sync(~0u, value, mask);
  return value;
}

// ---- Two neighbours of a row, in a word

// x + y, rounded to kType.
template <DType kType>
__device__ __forceinline__ uint32_t add(uint32_t x, uint32_t y) {
  const float2 a = unpack<kType>(x), b = unpack<kType>(y);
  return pack<kType>(a.x + b.x, a.y + b.y);
}

// The squares of both elements, added to `sum`.
template <DType kType>
__device__ __forceinline__ float add_squares(float sum, uint32_t y) {
  const float2 a = unpack<kType>(y);
  return sum + __fmaf_rn(a.x, a.x, __fmul_rn(a.y, a.y));
}

// The factor of a row of n elements, given the sum of the row's squares.
__device__ __forceinline__ float scale_of(float sum, int n, float epsilon) {
  return rsqrtf(__fadd_rn(__fdiv_rn(sum, static_cast<float>(n)), epsilon));
}

// y * scale * weight, rounded to kType.
template <DType kType>
__device__ __forceinline__ uint32_t scaled(uint32_t y, float scale, uint32_t weight) {
  const float2 a = unpack<kType>(y), b = unpack<kType>(weight);
  return pack<kType>(a.x * scale * b.x, a.y * scale * b.y);
}

// ---- Eight neighbours

template <DType kType>
__device__ __forceinline__ uint4 add(const uint4& x, const uint4& y) {
  return {add<kType>(x.x, y.x), add<kType>(x.y, y.y), add<kType>(x.z, y.z), add<kType>(x.w, y.w)};
}
template <DType kType>
__device__ __forceinline__ float squares(const uint4& y) {
  float sum = add_squares<kType>(0, y.x);
  sum = add_squares<kType>(sum, y.y);
  sum = add_squares<kType>(sum, y.z);
  return add_squares<kType>(sum, y.w);
}
template <DType kType>
__device__ __forceinline__ uint4 scaled(const uint4& y, float scale, const uint4& weight) {
  return {scaled<kType>(y.x, scale, weight.x), scaled<kType>(y.y, scale, weight.y),
          scaled<kType>(y.z, scale, weight.z), scaled<kType>(y.w, scale, weight.w)};
}

}  // namespace tilepost::norm

#endif  // TILEPOST_DEVICE_NORM_CUH
