// Which positions of the schedule a CTA of a persistent kernel works on.
#ifndef TILEPOST_DEVICE_POSITIONS_CUH
#define TILEPOST_DEVICE_POSITIONS_CUH

namespace tilepost {

// The positions of one consumer of a CTA, and of the thread that stores its tiles: first, first +
// stride, … The kCtas CTAs of a cluster, which have consecutive ranks, share a position. The grid
// computes `all` positions at a time, so a CTA has every all-th position. The CTA's kTurns
// consumers take turns at these positions. If kTurns is 1, its consumers work on each position
// together.
template <int kTurns, int kCtas = 1>
struct Positions {
  int all = gridDim.x / kCtas, first = blockIdx.x / kCtas, stride = all;

  __device__ explicit Positions(int consumer) {
    if constexpr (kTurns > 1) {
      first += consumer * all;
      stride = kTurns * all;
    }
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_POSITIONS_CUH
