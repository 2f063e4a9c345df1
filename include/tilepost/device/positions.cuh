// Which positions of the schedule a CTA of a persistent kernel works on.
#ifndef TILEPOST_DEVICE_POSITIONS_CUH
#define TILEPOST_DEVICE_POSITIONS_CUH

namespace tilepost {

// Those of one consumer of a CTA, and of the thread that stores its tiles: first, first + stride, …
// The CTA has every gridDim.x-th position from blockIdx.x on; kTurns consumers take turns at them,
// or, if kTurns is 1, work on each of them together.
template <int kTurns>
struct Positions {
  int first = blockIdx.x, stride = gridDim.x;

  __device__ explicit Positions(int consumer) {
    if constexpr (kTurns > 1) {
      first = blockIdx.x + consumer * gridDim.x;
      stride = kTurns * gridDim.x;
    }
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_POSITIONS_CUH
