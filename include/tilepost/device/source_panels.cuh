// Panels in which sources come: what other ranks have computed of a tile lies where its sum will.
#ifndef TILEPOST_DEVICE_SOURCE_PANELS_CUH
#define TILEPOST_DEVICE_SOURCE_PANELS_CUH

#include "tilepost/device/element.cuh"
#include "tilepost/device/panel.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/ring.cuh"

namespace tilepost::panel {

// Adds the source that lies in the panel at `source` to a thread's sums; kLast: rounds them and
// writes them in its place. All threads of the warpgroup call.
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

// Adds a tile's sources to the sums of a panel, as the source thread brings them, and writes the
// panel where the last one lay. The other buffers go back through the store thread. `Shared` says
// where panels lie and has their barriers. All threads of the consumer call.
template <int kColumns, int kSources, DType kOutput, class Shared, int kPanels>
__device__ __forceinline__ void write_with_sources(const Shared& shared, Ring<kPanels>& ring,
                                                   float* sums, int consumer, int thread) {
  if constexpr (kSources > 0) {  // panels of other kernels may have any columns
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
