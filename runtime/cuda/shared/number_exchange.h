// Lets ranks exchange numbers while the host waits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/cuda/device/resources.h"

namespace tilepost::cuda {

// The channel through which ranks exchange numbers: communicators of NCCL
// (runtime/cuda/transport/nccl_collective.h).
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  // Sends every rank's `count` numbers to every rank: `from` [count], `to` [ranks, count], device
  // pointers.
  virtual tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count,
                                     cudaStream_t stream) = 0;

  // Returns TILEPOST_OK, or an error that occurred in the background. Called by the watchdog.
  virtual tilepost_result_t check_async() = 0;

  // Ends the work that has been enqueued, even if it hangs. Later calls return TILEPOST_ABORTED.
  // Any thread may call.
  virtual void abort() = 0;
};

class NumberExchange {
 public:
  NumberExchange(ControlChannel& channel, int ranks, double seconds)
      : channel_(channel), ranks_(ranks), seconds_(seconds) {}
  NumberExchange(const NumberExchange&) = delete;
  NumberExchange& operator=(const NumberExchange&) = delete;
  ~NumberExchange();

  // Makes room for `most` numbers of each rank.
  tilepost_result_t create(size_t most);

  // Sends every rank's numbers to every rank: all[rank * own.size() + i]. `own` are this rank's
  // numbers. Collective. TILEPOST_TIMEOUT if a rank does not take part within `seconds` (0: waits
  // for ever). The channel is aborted if the exchange fails after it has begun.
  tilepost_result_t run(std::span<const int64_t> own, std::vector<int64_t>& all);

  cudaStream_t stream() const { return stream_.get(); }
  int64_t device_bytes() const { return device_bytes_; }
  // Whether the work that was issued last has ended. If not, freeing device memory could wait for
  // ever.
  bool is_idle() const { return idle_; }
  // Leaves the memory to the process, for when the device has not recovered.
  void leak() { idle_ = false; }

 private:
  // Copies `count` numbers to the host, beginning with number `first`.
  tilepost_result_t fetch(size_t first, size_t count);

  ControlChannel& channel_;
  int ranks_;
  double seconds_;
  Stream stream_;
  DeviceMemory numbers_;  // this rank's numbers, then all ranks'
  PinnedMemory staging_;  // the host's copy of these numbers
  int64_t device_bytes_ = 0;
  bool idle_ = true;
};

// Gives a timeout the text that the other ranks' `what` did not come. Other errors keep their text.
// `result` is that of an exchange by which an operation is made.
tilepost_result_t explain_absence(tilepost_result_t result, int rank, const char* what,
                                  double seconds);

}  // namespace tilepost::cuda
