// Lets ranks tell each other numbers while the host waits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

// The way that ranks tell each other numbers: communicators of NCCL
// (runtime/cuda/transport/nccl_collective.h).
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  // Sends every rank's `count` numbers to every rank: `from` [count], `to` [ranks, count], device
  // pointers.
  virtual tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count,
                                     cudaStream_t stream) = 0;

  // TILEPOST_OK, or what went wrong in the background. Called by the watchdog.
  virtual tilepost_result_t check_async() = 0;

  // Ends what has been enqueued, also where it hangs. Calls after that return TILEPOST_ABORTED. May
  // be called by any thread.
  virtual void abort() = 0;
};

class NumberExchange {
 public:
  NumberExchange(ControlChannel& channel, int ranks, double seconds)
      : channel_(channel), ranks_(ranks), seconds_(seconds) {}
  NumberExchange(const NumberExchange&) = delete;
  NumberExchange& operator=(const NumberExchange&) = delete;
  ~NumberExchange();

  // Room for `most` numbers of each rank.
  tilepost_result_t create(size_t most);

  // Sends every rank's numbers, `own` on this one, to every rank: all[rank * own.size() + i].
  // Collective. TILEPOST_TIMEOUT if a rank does not take part within `seconds` (0: waits for ever).
  // The channel is aborted if the exchange fails after it has begun.
  tilepost_result_t run(std::span<const int64_t> own, std::vector<int64_t>& all);

  cudaStream_t stream() const { return stream_.get(); }
  int64_t device_bytes() const { return device_bytes_; }
  // Whether what was issued last has ended. Otherwise freeing device memory could wait for ever.
  bool is_idle() const { return idle_; }
  // When the device has not come back: leaves the memory to the process.
  void leak() { idle_ = false; }

 private:
  // Copies to the host `count` numbers, from number `first` on.
  tilepost_result_t fetch(size_t first, size_t count);

  ControlChannel& channel_;
  int ranks_;
  double seconds_;
  Stream stream_;
  DeviceMemory numbers_;  // this rank's, then all ranks'
  PinnedMemory staging_;  // the same on the host
  int64_t device_bytes_ = 0;
  bool idle_ = true;
};

// For an exchange that is part of making an operation: gives a timeout the text that a rank did not
// come to tell its `what`. Other errors keep theirs.
tilepost_result_t explain_absence(tilepost_result_t result, int rank, const char* what,
                                  double seconds);

}  // namespace tilepost::cuda
