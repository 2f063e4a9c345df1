// A place where the ranks of one host exchange numbers through memory that their processes share,
// without a device and without NCCL.
//
// Every rank has two boxes, which it uses in turn. It writes its numbers into a box and then counts
// up the exchanges that it has begun. A rank reads the others' boxes when their counts have come
// that far. It begins the exchange after the next one, which overwrites its box, only when all
// ranks have begun the next one, and so have read the box.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/cuda/device/host_segment.h"
#include "tilepost/tilepost.h"

namespace tilepost::cuda {

class HostMeeting {
 public:
  HostMeeting() = default;
  HostMeeting(const HostMeeting&) = delete;
  HostMeeting& operator=(const HostMeeting&) = delete;

  // Makes the memory. One rank calls this, and keeps the object until the others have joined. The
  // address is empty if the system gives no memory.
  HostSegment::Address make(int ranks);
  // Called by every rank, also by the one that has made the memory. Returns false if this rank does
  // not see the memory, because it is on another host, or in a container that shares none.
  bool join(const HostSegment::Address& address, int rank, int ranks);

  // Sends every rank's numbers to every rank: all[rank * own.size() + i]. Every rank calls this, in
  // the same order; one thread at a time. TILEPOST_TIMEOUT, without a text, if a rank does not come
  // within `seconds` (0: waits for ever). TILEPOST_ABORTED after abort().
  // TILEPOST_INVALID_ARGUMENT: another rank sends another number of numbers.
  tilepost_result_t exchange(std::span<const int64_t> own, std::vector<int64_t>& all,
                             double seconds);

  // Ends this rank's exchange, and refuses later ones. Any thread may call.
  void abort() { aborted_.store(true); }

 private:
  struct Line;

  static size_t bytes_of(int ranks);
  Line& line_of(int rank) const;
  tilepost_result_t exchange_part(std::span<const int64_t> own, size_t first, size_t stride,
                                  std::vector<int64_t>& all, double seconds);
  tilepost_result_t await(int rank, uint64_t number, double seconds) const;

  HostSegment segment_;
  int rank_ = 0, ranks_ = 0;
  uint64_t number_ = 0;  // how many exchanges this rank has begun
  std::atomic<bool> aborted_ = false;
};

}  // namespace tilepost::cuda
