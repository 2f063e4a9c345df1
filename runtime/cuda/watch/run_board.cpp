#include "runtime/cuda/watch/run_board.h"

#include <algorithm>
#include <atomic>

#include "runtime/map/fnv1a.h"

namespace tilepost::cuda {
namespace {

using Word = std::atomic<uint64_t>;
// Only atomics that need no lock work between processes (C++, [atomics.lockfree]).
static_assert(Word::is_always_lock_free);

constexpr size_t kLine = 64;     // the bytes that processors pass to each other at once
constexpr int kNumberBits = 48;  // the bits of a stamp that hold the number

constexpr uint64_t number_of(uint64_t stamp) {
  return stamp & ((uint64_t{1} << kNumberBits) - 1);
}

}  // namespace

// A run. `stamp` is the run's number and, in the high bits, how many runs had been taken back, so
// that no two runs have the same stamp. It is 0 while the other words are being written. A reader
// that reads the same stamp before and after the other words has read that run.
struct alignas(kLine) RunBoard::Entry {
  Word stamp, m, schedule, overlaps, output, digest;
};

// A rank's part of the board. Only the rank itself writes it.
struct alignas(kLine) RunBoard::Line {
  Word joined;    // 1: the rank writes its calls to the board
  Word said;      // the number of its last run
  Word captured;  // 1: some of its runs are in graphs
  Entry entries[kKept];
  Entry replays[kMostRanges];  // the replay of each plan that is under way, if any; without a
                               // digest
};

struct RunBoard::Known {
  Call call;
  uint64_t digest;
};

// The board is zero at first, and its lines stand behind the segment's front.
static_assert(HostSegment::kFront % kLine == 0);

RunBoard::Address RunBoard::make(int ranks, RunBoard& board) {
  return board.segment_.make(bytes_of_board(ranks));
}

bool RunBoard::join(const Address& address, int rank, int ranks) {
  if (!segment_.join(address, bytes_of_board(ranks))) return false;
  rank_ = rank;
  ranks_ = ranks;
  line_of(rank).joined.store(1, std::memory_order_release);
  return true;
}

size_t RunBoard::bytes_of_board(int ranks) {
  return HostSegment::kFront + static_cast<size_t>(ranks) * sizeof(Line);
}

RunBoard::Line& RunBoard::line_of(int rank) const {
  return reinterpret_cast<Line*>(segment_.memory() + HostSegment::kFront)[rank];
}

// Every word is released after the stamp 0. So a reader that acquires a new word sees the stamp 0,
// or the new stamp, when it reads the stamp again (C++, [atomics.order]).
void RunBoard::write(Entry& entry, uint64_t stamp, const Call& call, uint64_t digest) {
  entry.stamp.store(0, std::memory_order_relaxed);
  entry.m.store(static_cast<uint64_t>(call.m), std::memory_order_release);
  entry.schedule.store(call.schedule, std::memory_order_release);
  entry.overlaps.store(call.overlaps ? 1 : 0, std::memory_order_release);
  entry.output.store(call.output, std::memory_order_release);
  entry.digest.store(digest, std::memory_order_release);
  entry.stamp.store(stamp, std::memory_order_release);
}

// Writes a run to the board. `said` is released after the entry.
void RunBoard::say(const Call& call) {
  Line& line = line_of(rank_);
  const uint64_t last = line.said.load(std::memory_order_relaxed), number = last + 1;
  const std::optional<Known> before = read(entry_of(rank_, last), last);
  Fnv1a digest;
  digest.mix(before ? before->digest : 0);
  digest.mix(static_cast<uint64_t>(call.m));
  digest.mix(call.schedule);
  digest.mix(call.output);
  write(line.entries[number % kKept], number | taken_back_ << kNumberBits, call, digest.value());
  line.said.store(number, std::memory_order_release);
}

void RunBoard::take_back() {
  Line& line = line_of(rank_);
  ++taken_back_;
  line.said.store(line.said.load(std::memory_order_relaxed) - 1, std::memory_order_release);
}

void RunBoard::say_captured() {
  line_of(rank_).captured.store(1, std::memory_order_release);
}

void RunBoard::say_replay(uint64_t number, const Call& call, size_t range) {
  write(line_of(rank_).replays[range], number, call, 0);
}

void RunBoard::end_replay(size_t range) {
  line_of(rank_).replays[range].stamp.store(0, std::memory_order_release);
}

const RunBoard::Entry& RunBoard::entry_of(int rank, uint64_t number) const {
  return line_of(rank).entries[number % kKept];
}

// Returns nothing if the entry has another run by now, or is being written.
std::optional<RunBoard::Known> RunBoard::read(const Entry& entry, uint64_t number) {
  const uint64_t stamp = entry.stamp.load(std::memory_order_acquire);
  if (number == 0 || number_of(stamp) != number) return {};
  const Known known{{static_cast<int64_t>(entry.m.load(std::memory_order_acquire)),
                     entry.schedule.load(std::memory_order_acquire),
                     entry.overlaps.load(std::memory_order_acquire) != 0,
                     static_cast<uint32_t>(entry.output.load(std::memory_order_acquire))},
                    entry.digest.load(std::memory_order_acquire)};
  if (entry.stamp.load(std::memory_order_relaxed) != stamp) return {};
  return known;
}

bool RunBoard::counts_all(int rank) const {
  return line_of(rank).captured.load(std::memory_order_acquire) == 0;
}

std::optional<RunBoard::Difference> RunBoard::find_difference(bool late) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (!late && !(counts_all(rank_) && counts_all(rank))) continue;
    if (const std::optional<Difference> found = compare(rank)) return found;
  }
  return {};
}

// Goes back from the last run that both ranks have called to the first run in which their digests
// differ.
std::optional<RunBoard::Difference> RunBoard::compare(int rank) const {
  const Line &own = line_of(rank_), &theirs = line_of(rank);
  uint64_t number = std::min(own.said.load(std::memory_order_acquire),
                             theirs.said.load(std::memory_order_acquire));
  std::optional<Difference> found;
  for (; number > 0; --number) {
    const auto mine = read(entry_of(rank_, number), number);
    const auto other = read(entry_of(rank, number), number);
    if (!mine || !other || mine->digest == other->digest) break;
    found = Difference{rank, number, !mine->call.same_as(other->call), mine->call, other->call};
  }
  return found;
}

std::optional<RunBoard::Difference> RunBoard::find_other_replay(size_t range) const {
  const Entry& own = line_of(rank_).replays[range];
  const uint64_t number = number_of(own.stamp.load(std::memory_order_acquire));
  const std::optional<Known> mine = read(own, number);
  for (int rank = 0; mine && rank < ranks_; ++rank)
    if (const auto other = read(line_of(rank).replays[range], number);
        other && !mine->call.same_as(other->call))
      return Difference{rank, number, true, mine->call, other->call};
  return {};
}

std::optional<std::vector<int>> RunBoard::find_absent(uint64_t number) const {
  std::vector<int> absent;
  for (int rank = 0; rank < ranks_; ++rank) {
    const Line& line = line_of(rank);
    if (line.joined.load(std::memory_order_acquire) == 0) return {};
    if (line.said.load(std::memory_order_acquire) < number) absent.push_back(rank);
  }
  if (ranks_ == 0) return {};
  return absent;
}

}  // namespace tilepost::cuda
