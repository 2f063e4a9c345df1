// Panels in which sources (sources.cuh) come: what another rank has computed of a tile lies in the
// buffer that the sum of the tile is written to.
#ifndef TILEPOST_DEVICE_SOURCE_PANELS_CUH
#define TILEPOST_DEVICE_SOURCE_PANELS_CUH

#include "tilepost/device/element.cuh"
#include "tilepost/device/panel.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/ring.cuh"

namespace tilepost::panel {

// Adds the source in the panel at `source` to a thread's sums. With kLast it also rounds the sums
// and writes them over the source. All threads of the warpgroup call.
template <int kColumns, bool kLast, DType kOutput>
__device__ __forceinline__ void add_source(uint32_t source, float* sums, int thread) {
  static_assert(kColumns % 16 == 0 && kColumns <= kMostColumns, "four words at a time");
  const int lane = thread % 32;
  const int row = thread / 32 * 16 + lane % 16;
#pragma unroll
  for (int i = 0; i < kWords<kColumns>; i += 4) {
    const int chunk = i / 2 + lane / 16;
    const uint32_t address = source + row * kRowBytes + ((chunk ^ (row % 8)) << 4);
    uint32_t words[4];
    ptx::load_matrices(words, address);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 other = unpack<kOutput>(words[j]);
      float* const pair = sums + 2 * (i + j);
      pair[0] += other.x;
      pair[1] += other.y;
      if constexpr (kLast) words[j] = pack<kOutput>(pair[0], pair[1]);
    }
    if constexpr (kLast) ptx::store_matrices(address, words[0], words[1], words[2], words[3]);
  }
}

// Adds the sources of a tile's panel to the panel's sums in the order in which the source thread
// brings them, and writes the result over the last source. The buffers of the other sources go back
// through the store thread. `Shared` says where panels lie and has their barriers. All threads of
// the consumer call.
template <int kColumns, int kSources, DType kOutput, class Shared, int kPanels>
__device__ __forceinline__ void write_with_sources(const Shared& shared, Ring<kPanels>& ring,
                                                   float* sums, int consumer, int thread) {
  if constexpr (kSources > 0) {  // without sources panels may have any columns
#pragma unroll
    for (int source = 0; source < kSources; ++source) {
      const uint32_t panel = shared.panel(consumer, ring.index);
      ptx::wait_barrier(shared.source(consumer, ring.index), ring.parity ^ 1);
      if (source + 1 == kSources) {
        add_source<kColumns, true, kOutput>(panel, sums, thread);
      } else {
        add_source<kColumns, false, kOutput>(panel, sums, thread);
        shared.panels().pass_on(consumer, ring.index, thread);
        ring.advance();
      }
    }
  }
}

}  // namespace tilepost::panel

#endif  // TILEPOST_DEVICE_SOURCE_PANELS_CUH
