#include "runtime/cuda/shared/host/host_meeting.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "runtime/core/error.h"

namespace tilepost::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using Count = std::atomic<uint64_t>;
using Number = std::atomic<int64_t>;
// Only atomics that need no lock work between processes (C++, [atomics.lockfree]).
static_assert(Count::is_always_lock_free && Number::is_always_lock_free);

constexpr size_t kLine = 64;  // the bytes that processors pass to each other at once
constexpr size_t kMostNumbers = 512;
constexpr std::chrono::microseconds kPoll{20};

}  // namespace

// A rank's boxes. Only the rank itself writes here. All of it is zero at first.
struct alignas(kLine) HostMeeting::Line {
  Count begun;  // how many exchanges the rank has begun
  struct alignas(kLine) Box {
    Number count;  // of the numbers of all parts of the exchange
    Number numbers[kMostNumbers];
  } boxes[2];
};

static_assert(HostSegment::kFront % kLine == 0);

size_t HostMeeting::bytes_of(int ranks) {
  return HostSegment::kFront + static_cast<size_t>(ranks) * sizeof(Line);
}

HostMeeting::Line& HostMeeting::line_of(int rank) const {
  return reinterpret_cast<Line*>(segment_.memory() + HostSegment::kFront)[rank];
}

HostSegment::Address HostMeeting::make(int ranks) {
  return segment_.make(bytes_of(ranks));
}

bool HostMeeting::join(const HostSegment::Address& address, int rank, int ranks) {
  rank_ = rank;
  ranks_ = ranks;
  return segment_.join(address, bytes_of(ranks));
}

tilepost_result_t HostMeeting::exchange(std::span<const int64_t> own, std::vector<int64_t>& all,
                                        double seconds) {
  all.assign(own.size() * static_cast<size_t>(ranks_), 0);
  size_t first = 0;
  do {
    const size_t count = std::min(kMostNumbers, own.size() - first);
    TILEPOST_TRY(exchange_part(own.subspan(first, count), first, own.size(), all, seconds));
    first += count;
  } while (first < own.size());
  return TILEPOST_OK;
}

// A box is written before `begun` is released, and read after `begun` was acquired (C++,
// [atomics.order]).
tilepost_result_t HostMeeting::exchange_part(std::span<const int64_t> own, size_t first,
                                             size_t stride, std::vector<int64_t>& all,
                                             double seconds) {
  const uint64_t number = ++number_;
  Line& line = line_of(rank_);
  Line::Box& box = line.boxes[number % 2];
  box.count.store(static_cast<int64_t>(stride), std::memory_order_relaxed);
  for (size_t i = 0; i < own.size(); ++i) box.numbers[i].store(own[i], std::memory_order_relaxed);
  line.begun.store(number, std::memory_order_release);
  for (int rank = 0; rank < ranks_; ++rank) {
    TILEPOST_TRY(await(rank, number, seconds));
    const Line::Box& theirs = line_of(rank).boxes[number % 2];
    if (const int64_t count = theirs.count.load(std::memory_order_relaxed);
        count != static_cast<int64_t>(stride))
      return fail(
          TILEPOST_INVALID_ARGUMENT,
          "rank %d exchanges %zu numbers and rank %d %lld: they are in different calls; make "
          "collective calls in the same order on all ranks",
          rank_, stride, rank, static_cast<long long>(count));
    for (size_t i = 0; i < own.size(); ++i)
      all[static_cast<size_t>(rank) * stride + first + i] =
          theirs.numbers[i].load(std::memory_order_relaxed);
  }
  return TILEPOST_OK;
}

tilepost_result_t HostMeeting::await(int rank, uint64_t number, double seconds) const {
  const auto begin = Clock::now();
  while (line_of(rank).begun.load(std::memory_order_acquire) < number) {
    if (aborted_.load())
      return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one");
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (seconds > 0 && elapsed.count() > seconds) return TILEPOST_TIMEOUT;
    std::this_thread::sleep_for(kPoll);
  }
  if (!aborted_.load()) return TILEPOST_OK;
  return fail(TILEPOST_ABORTED, "the communicator was aborted; make a new one");
}

}  // namespace tilepost::cuda
