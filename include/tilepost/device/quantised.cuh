// Quantises blocks of an output (tilepost/internal/quantised.h) of which lanes of a warp have a few
// neighbours each: lanes 0 to 15 have one block, lanes 16 to 31 have another.
#ifndef TILEPOST_DEVICE_QUANTISED_CUH
#define TILEPOST_DEVICE_QUANTISED_CUH

#include "tilepost/device/element.cuh"
#include "tilepost/internal/quantised.h"

namespace tilepost::quantised {

constexpr int kWidth = 8;                              // neighbours of a lane
constexpr int kLanes = TILEPOST_SCALE_BLOCK / kWidth;  // of a block

// The neighbours of a lane. Those beyond the end of a row are 0.
struct Neighbours {
  float values[kWidth];
};

// The scale of the block, on all of its lanes. All lanes of the warp call.
__device__ __forceinline__ float scale_of(const Neighbours& x) {
  float most = 0;
#pragma unroll
  for (const float value : x.values) most = fmaxf(most, fabsf(value));
#pragma unroll
  for (int mask = kLanes / 2; mask > 0; mask /= 2)
    most = fmaxf(most, __shfl_xor_sync(~0u, most, mask));
  return scale_of_block(most);
}

// Stores the neighbours, quantised, at `out`, a multiple of 8 bytes.
__device__ __forceinline__ void store(void* out, const Neighbours& x, float scale) {
  const float inverse = inverse_of_scale(scale);
  uint32_t halves[kWidth / 2];
#pragma unroll
  for (int i = 0; i < kWidth / 2; ++i)
    halves[i] = pack_e4m3(x.values[2 * i] * inverse, x.values[2 * i + 1] * inverse);
  *static_cast<uint2*>(out) = {halves[0] | halves[1] << 16, halves[2] | halves[3] << 16};
}

}  // namespace tilepost::quantised

#endif  // TILEPOST_DEVICE_QUANTISED_CUH
