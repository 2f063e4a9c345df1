// The times of runs that all ranks begin together: each rank's stream waits at one gate, and events
// around the runs are compared.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/bench/gpu/checked.h"

namespace tilepost::bench {

// What the clocks of all ranks share.
struct RankClocks {
  // Throws BenchError.
  explicit RankClocks(int ranks);

  double slowest() const;

  cuda::PinnedMemory gate_memory;
  uint32_t* gate = nullptr;  // all ranks wait for this word before a run
  std::vector<double> us;    // [ranks] the time of the run that was finished last
};

class RankClock {
 public:
  // Uses the current device. `stream` must outlive the clock. Throws BenchError.
  RankClock(RankClocks& clocks, int rank, cudaStream_t stream);

  // Flushes L2, and puts the gate and then the first event on the stream.
  void begin();
  // Puts the second event on the stream.
  void end();
  // Rank 0 lets all ranks through. To be called when all ranks have put their runs on the stream.
  void open();
  // Waits for the second event, and sets the rank's time to that of one of `runs` runs.
  void take(int runs);

 private:
  RankClocks& clocks_;
  const int rank_;
  const cudaStream_t stream_;
  cuda::Event begin_, end_;
  cuda::DeviceMemory flush_;
  uint32_t gates_ = 0;
};

}  // namespace tilepost::bench
