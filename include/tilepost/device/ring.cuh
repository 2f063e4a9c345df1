// A place in a ring of buffers that are handed over by mbarriers.
#ifndef TILEPOST_DEVICE_RING_CUH
#define TILEPOST_DEVICE_RING_CUH

#include <cstdint>

namespace tilepost {

// The next buffer, and the parity of the phase to wait for at its barrier. The thread that fills
// starts with parity 1, for which a fresh barrier lets it pass. The thread that empties starts with
// parity 0.
template <int kSize>
struct Ring {
  int index = 0;
  uint32_t parity;

  __device__ explicit Ring(uint32_t first_parity) : parity(first_parity) {}
  __device__ __forceinline__ void advance() {
    if (++index == kSize) {
      index = 0;
      parity ^= 1;
    }
  }
  // Passes over the next `count` buffers, which another thread serves.
  __device__ __forceinline__ void skip(int count) {
    const int end = index + count;
    index = end % kSize;
    parity ^= static_cast<uint32_t>(end / kSize) & 1;
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_RING_CUH
