// What the ranks of a host communicator share: the place where they meet, the order of each rank's
// runs, and the failure that ended the communicator.
//
// Every communicator handle and every operation holds a reference to the group, so they may be
// destroyed in any order and on any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/core/run_terms.h"
#include "runtime/host/arena.h"
#include "runtime/host/deadline.h"
#include "tilepost/tilepost.h"

namespace tilepost {

constexpr int kMaxHostRanks = 64;

// The order of one rank's runs, over all its operations: the host target's only stream. A run takes
// the ticket `issued` when it is posted, and starts when `completed` has reached that ticket.
struct HostStream {
  std::mutex mutex;                 // also guards the queues of the rank's operations
  std::condition_variable changed;  // posted, finished, worker returned, stopped, aborted
  uint64_t issued = 0;
  uint64_t completed = 0;
  uint64_t operations = 0;  // made so far, without those that do not communicate
  std::vector<std::shared_ptr<HostArena>> arenas;  // of operations that share their memory
};

// One step of one run on one rank, as it appears in messages and as the ranks compare it.
struct HostStep {
  RunTerms terms;
  int group;  // or one of the constants below

  static constexpr int kExchange =
      -1;                            // the whole run; or ranks tell each other of a route or output
  static constexpr int kBegin = -2;  // the beginning of a run whose ranks share memory
  static constexpr int kEnd = -3;
};

// "rank 1, run 7 of 'attn_out', group 2", "rank 1, route 3 of 'experts'".
std::string name_step(int rank, const HostStep& step);

// A group's counter that a rank waits for. `base` is what the counter read before this run.
struct HostSignal {
  const uint32_t* counter;
  uint32_t base;
  uint32_t target;
  int group;

  uint32_t count() const { return __atomic_load_n(counter, __ATOMIC_ACQUIRE) - base; }
  // By signed distance, so that the comparison holds when the counter wraps around.
  bool reached() const { return static_cast<int32_t>(count() - target) >= 0; }
};

class HostGroup {
 public:
  // Lasts from begin_collective or enter until the scope is left, and then leaves the group.
  class Visit;

  explicit HostGroup(int world);

  int world() const { return world_; }
  HostStream& stream(int rank) { return members_[rank].stream; }

  // Waits for one group's tiles on this rank, at most `seconds` (0: no deadline). Returns false if
  // the communicator was aborted, by this wait if its deadline passed.
  bool wait_signal(int rank, const HostStep& step, const HostSignal& signal, double seconds);

  // Waits until every rank has brought what the others may read and write for the same step. All
  // ranks may then do so until they call end_collective. False as above. What a rank has brought,
  // and what that points to, must stay in place until the collective or the group has ended: ranks
  // that are still in the collective when another one gives up go on reading.
  bool begin_collective(int rank, const HostStep& step, const void* brought, double seconds);
  bool end_collective(int rank, const HostStep& step, double seconds);
  // Between these two: waits until every rank has come to the same point. False as above.
  bool meet_again(int rank, const HostStep& step, double seconds);

  // A thread calls these two around any other access to other ranks' memory. Until it leaves, no
  // rank frees that memory. Returns false if the communicator was aborted. Then the thread must not
  // begin. A rank that ends a collective because of a failure also leaves.
  bool enter();
  void leave();
  // What `rank` has brought. All ranks must bring the same type.
  template <class T>
  const T& brought(int rank) const {
    return *static_cast<const T*>(brought_[rank]);
  }

  // Compares the terms of all ranks that have come to the run of this number of the operation. This
  // is for runs in which ranks might be in different operations of a family, or might have no rows,
  // and so would never meet. No rank waits. Returns false if the communicator was aborted. This
  // call aborts it if the terms differ.
  bool compare(int rank, const RunTerms& terms);

  // Ends the communicator, so that every wait on every rank returns. Only the first failure is
  // kept.
  void abort(tilepost_result_t result, const std::string& text);
  bool aborted() const { return aborted_.load(std::memory_order_acquire); }
  // Whether the group was aborted and no rank touches another's buffers any more.
  bool ended() const { return aborted() && inside_.load(std::memory_order_acquire) == 0; }
  // The failure; requires aborted().
  tilepost_result_t failure() const { return failure_; }
  const char* failure_text() const { return text_.c_str(); }

 private:
  struct Member {
    HostStream stream;
    uint64_t meetings = 0;               // meetings at which it has arrived so far
    HostStep step{};                     // the step with which it last arrived
    const HostSignal* signal = nullptr;  // what it waits for; null: nothing
  };

  // The terms of the first rank that came to a run, kept until all ranks have come to it.
  struct Said {
    RunTerms terms;
    int rank;
    int ranks;  // ranks that have come so far
  };

  bool meet(int rank, const HostStep& step, const Deadline& deadline,
            std::unique_lock<std::mutex>& lock);
  void report_absent(int rank, const HostStep& step, const Deadline& deadline);
  void leave_locked();
  void abort_locked(tilepost_result_t result, const std::string& text);
  void wake_streams();

  const int world_;
  std::mutex mutex_;                 // guards all below but the atomics; locked before a stream's
  std::condition_variable changed_;  // a meeting is complete, or the group was aborted
  std::vector<Member> members_;
  std::vector<const void*> brought_;
  std::map<std::pair<uint64_t, uint64_t>, Said> said_;  // by operation and run
  int arrived_ = 0;
  uint64_t meetings_ = 0;  // complete ones
  std::atomic<int> inside_{0};
  std::atomic<bool> aborted_{false};
  tilepost_result_t failure_ = TILEPOST_OK;
  std::string text_;
};

class HostGroup::Visit {
 public:
  // Requires that begin_collective or enter has returned true.
  explicit Visit(HostGroup& group) : group_(&group) {}
  Visit(const Visit&) = delete;
  ~Visit() {
    if (group_ != nullptr) group_->leave();
  }
  bool end_collective(int rank, const HostStep& step, double seconds) {
    return std::exchange(group_, nullptr)->end_collective(rank, step, seconds);
  }

 private:
  HostGroup* group_;
};

}  // namespace tilepost
