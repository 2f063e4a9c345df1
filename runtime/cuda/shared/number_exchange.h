// Lets ranks exchange numbers while the host waits.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/core/error.h"
#include "runtime/cuda/device/resources.h"
#include "tilepost/tilepost.h"

namespace tilepost::cuda {

// The channel through which ranks exchange numbers: communicators of NCCL
// (runtime/cuda/transport/nccl_collective.h), or memory of the host that they share
// (runtime/cuda/transport/bootstrap/host_channel.h).
class ControlChannel {
 public:
  virtual ~ControlChannel() = default;

  // Whether numbers pass from host to host, by exchange_on_host(), and not by exchange().
  virtual bool meets_on_host() const { return false; }
  // Sends every rank's numbers to every rank while the host waits: all[rank * own.size() + i].
  // Requires meets_on_host(). TILEPOST_TIMEOUT, without a text, if a rank does not come within
  // `seconds` (0: waits for ever).
  virtual tilepost_result_t exchange_on_host(std::span<const int64_t> own,
                                             std::vector<int64_t>& all, double seconds);

  // Sends every rank's `count` numbers to every rank: `from` [count], `to` [ranks, count], device
  // pointers.
  // Requires that meets_on_host() is false.
  virtual tilepost_result_t exchange(const int64_t* from, int64_t* to, size_t count,
                                     cudaStream_t stream);

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
  // Adds what create(most) allocates for so many ranks, and what this object has allocated.
  static void add_needs(size_t most, int ranks, tilepost_memory_t& memory);
  void add_memory(tilepost_memory_t& memory) const;
  // Whether the work that was issued last has ended. If not, freeing device memory could wait for
  // ever.
  bool is_idle() const { return idle_; }
  // Leaves the memory to the process, for when the device has not recovered.
  void leak() { idle_ = false; }

 private:
  static size_t bytes_of(size_t most, int ranks) {
    return most * (1 + static_cast<size_t>(ranks)) * sizeof(int64_t);
  }
  tilepost_result_t run_on_host(std::span<const int64_t> own, std::vector<int64_t>& all);
  // Copies `count` numbers to the host, beginning with number `first`.
  tilepost_result_t fetch(size_t first, size_t count);

  ControlChannel& channel_;
  int ranks_;
  double seconds_;
  Stream stream_;
  DeviceMemory numbers_;  // this rank's numbers, then all ranks'
  PinnedMemory staging_;  // the host's copy of these numbers
  bool idle_ = true;
};

// Tells every rank what the others say of themselves. `Standing` has nothing but numbers of 64 bits
// and bytes that fill such. Collective, like NumberExchange::run.
template <class Standing>
tilepost_result_t exchange_standings(ControlChannel& channel, int ranks, double seconds,
                                     const Standing& own, std::vector<Standing>& all) {
  constexpr size_t kNumbers = sizeof(Standing) / sizeof(int64_t);
  static_assert(sizeof(Standing) % sizeof(int64_t) == 0);
  static_assert(std::is_trivially_copyable_v<Standing>);
  NumberExchange numbers(channel, ranks, seconds);
  TILEPOST_TRY(numbers.create(kNumbers));
  std::array<int64_t, kNumbers> said{};
  std::memcpy(said.data(), &own, sizeof own);
  std::vector<int64_t> told;
  TILEPOST_TRY(numbers.run(said, told));
  all.resize(static_cast<size_t>(ranks));
  std::memcpy(all.data(), told.data(), all.size() * sizeof(Standing));
  return TILEPOST_OK;
}

// Gives a timeout the text that the other ranks' `what` did not come. Other errors keep their text.
// `result` is that of an exchange by which an operation is made.
tilepost_result_t explain_absence(tilepost_result_t result, int rank, const char* what,
                                  double seconds);

}  // namespace tilepost::cuda
