// The calls of every rank of an operation, in memory that the other ranks of its host can read.
//
// Ranks that run with different numbers of rows make NCCL wait for data that never comes, or take
// data that is not meant for them, because NCCL does not compare counts. So every rank writes its
// runs to memory that the ranks of a host share, before any work of a run can reach another rank.
// Threads that watch runs read what the others wrote. No rank waits for another, and none of this
// is on the device.
//
// The board keeps a rank's last runs. Each entry also has a digest of all runs up to it. So ranks
// that find any run in common compare all runs before it too.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/ranges.h"
#include "runtime/cuda/device/host_segment.h"
#include "runtime/schedule/run_map.h"

namespace tilepost::cuda {

class RunBoard {
 public:
  // Twice RunTracker::kMaxInFlight, because two ranks together have so many runs in flight.
  static constexpr int kKept = 64;

  // How ranks find the board. Both fields are 0 if there is no board.
  using Address = HostSegment::Address;

  // The facts that ranks must have in common in a run.
  struct Call {
    int64_t m;          // rows of the run; 0 if rows are routed
    uint64_t schedule;  // RunMap::schedule_hash
    bool overlaps;
    uint32_t output;  // RunTerms::output

    bool same_as(const Call& other) const {
      return m == other.m && schedule == other.schedule && output == other.output;
    }
  };
  // The call of a run of `plan`. `output`: RunTerms::output, 0 if out is no registered buffer.
  static Call call_of(const tilepost_plan_t& plan, const RunMap& run, uint32_t output) {
    return {is_routed(plan) ? 0 : run.m, run.schedule_hash, run.overlaps, output};
  }

  RunBoard() = default;
  RunBoard(const RunBoard&) = delete;
  RunBoard& operator=(const RunBoard&) = delete;

  // Makes the board. One rank calls this, and keeps the board until the others have joined. The
  // address is empty if the system gives no memory. When this returns, the memory is sure to be
  // freed, however processes end.
  static Address make(int ranks, RunBoard& board);
  // Called by every rank, also by the one that has made the board. Returns false if the board
  // cannot be found, because this rank is on another host, or in a container that shares no memory
  // with the rank that has made it.
  bool join(const Address& address, int rank, int ranks);
  bool is_joined() const { return rank_ >= 0; }

  // Writes this rank's next run to the board, before any work of it can reach another rank. The
  // thread that issues runs makes this call and the next two.
  void say(const Call& call);
  // Takes back the last run, of which no work was started that can reach another rank.
  void take_back();
  // From now on graphs replay runs of this rank without a call. So run n of this rank may be run n
  // + 1 of another rank.
  void say_captured();

  // Replays happen without a call. So a thread that watches writes which replay is under way on
  // this rank, and when none is any more. `number` is how many replays have begun. `range` is the
  // plan of these runs (runtime/core/ranges.h), and only one thread at a time may call for each
  // range.
  void say_replay(uint64_t number, const Call& call, size_t range = 0);
  void end_replay(size_t range = 0);

  // Any thread may call the functions below.
  struct Difference {
    int rank = 0;          // the first rank that has called another run
    uint64_t number = 0;   // the number of the run, from 1: the first run that differs, or the
                           // first that is still known
    bool is_here = false;  // whether run `number` itself differs; if not, an earlier run does
    Call own{}, theirs{};
  };
  // Finds a difference between the runs that this rank and another one have both called. Returns
  // nothing if they are all equal. If one of the two ranks has captured runs, calls differ in
  // correct programs too. Such ranks are compared only if a run is `late`.
  std::optional<Difference> find_difference(bool late) const;
  // Finds a rank that is in the replay of the same number as this rank, but of another run. Returns
  // nothing if there is none. It is for replays that are late, because ranks need not have replayed
  // equally often.
  std::optional<Difference> find_other_replay(size_t range = 0) const;
  // The ranks that have not called run `number`, or nothing if one of the ranks does not write to
  // the board.
  std::optional<std::vector<int>> find_absent(uint64_t number) const;

 private:
  struct Entry;
  struct Line;
  struct Known;

  static size_t bytes_of_board(int ranks);
  Line& line_of(int rank) const;
  static void write(Entry& entry, uint64_t stamp, const Call& call, uint64_t digest);
  static std::optional<Known> read(const Entry& entry, uint64_t number);
  const Entry& entry_of(int rank, uint64_t number) const;
  std::optional<Difference> compare(int rank) const;
  bool counts_all(int rank) const;

  HostSegment segment_;
  int rank_ = -1, ranks_ = 0;
  uint64_t taken_back_ = 0;  // how many runs were taken back
};

}  // namespace tilepost::cuda
