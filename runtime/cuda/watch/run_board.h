// What every rank of an operation has called, in memory where the other ranks of its host can read
// it.
//
// Ranks that run with different numbers of rows make NCCL wait for what never comes, or take what
// is not meant for them: NCCL does not compare counts. So every rank writes what it runs to memory
// that the ranks of a host share, before any of it can reach another rank. Whoever watches runs
// reads what the others wrote. Nobody waits for anybody, and none of this is on the device.
//
// The board keeps a rank's last runs. Each entry also has a digest of all runs up to it, so that
// ranks which have any run in common compare all runs before it too.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/core/ranges.h"
#include "runtime/schedule/run_map.h"

namespace tilepost::cuda {

class RunBoard {
 public:
  // Twice RunTracker::kMaxInFlight: as many runs as two ranks together have in flight.
  static constexpr int kKept = 64;

  // How ranks find the board; both are 0 where there is none.
  struct Address {
    int64_t segment, token;
  };

  // What ranks must have in common in a run.
  struct Call {
    int64_t m;          // 0 where rows are routed
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
  ~RunBoard();

  // One rank makes the board, and keeps it until the others have joined. The address is empty where
  // the system gives no memory. When this returns, no memory can be left behind, however processes
  // end.
  static Address make(int ranks, RunBoard& board);
  // Called by every rank, also by the one that has made the board. Returns false where the board
  // cannot be found: this rank is on another host, or in a container that shares no memory with the
  // rank that has made it.
  bool join(const Address& address, int rank, int ranks);
  bool is_joined() const { return rank_ >= 0; }

  // Writes down this rank's next run, before anything of it can reach another rank. This call and
  // the next two are made by the thread that issues runs.
  void say(const Call& call);
  // Takes the last run back. It has come to nothing, and nothing of it has reached another rank.
  void take_back();
  // From now on graphs replay runs of this rank without a call. So what this rank calls as its run
  // n may be another rank's run n + 1.
  void say_captured();

  // Replays call nothing. So whoever watches writes down which replay is under way on this rank,
  // where `number` is how many have begun there, and that none is any more. Only one thread at a
  // time may do this for each `range`, the plan whose runs these are (runtime/core/ranges.h).
  void say_replay(uint64_t number, const Call& call, size_t range = 0);
  void end_replay(size_t range = 0);

  // Everything below may be called by any thread.
  struct Difference {
    int rank = 0;          // the first that has called another run
    uint64_t number = 0;   // of the run, from 1: the first that differs, or that is still known
    bool is_here = false;  // what differs is that run; if not, an earlier one
    Call own{}, theirs{};
  };
  // A difference between the runs that this rank and another one have both called; nothing where
  // they were all the same. Where one of the two ranks has captured runs, calls differ in correct
  // programs too. Such ranks are compared only if a run is `late`.
  std::optional<Difference> find_difference(bool late) const;
  // A rank that is in the replay of the same number as this rank, but of another run; nothing where
  // there is none. For replays that are late, because ranks need not have replayed equally often.
  std::optional<Difference> find_other_replay(size_t range = 0) const;
  // The ranks that have not called run `number`; nothing where one of them cannot be asked.
  std::optional<std::vector<int>> find_absent(uint64_t number) const;

 private:
  struct Entry;
  struct Line;
  struct Segment;
  struct Known;

  bool attach(int64_t segment, size_t bytes);
  Line& line_of(int rank) const;
  static void write(Entry& entry, uint64_t stamp, const Call& call, uint64_t digest);
  static std::optional<Known> read(const Entry& entry, uint64_t number);
  const Entry& entry_of(int rank, uint64_t number) const;
  std::optional<Difference> compare(int rank) const;
  bool counts_all(int rank) const;

  Segment* segment_ = nullptr;
  int rank_ = -1, ranks_ = 0;
  uint64_t taken_back_ = 0;  // runs
};

}  // namespace tilepost::cuda
