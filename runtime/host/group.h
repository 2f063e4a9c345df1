// The state that the ranks of a host communicator share: the place where they meet, the order of
// each rank's runs, and the failure that ended the communicator.
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

// The order of one rank's runs, over all its operations. It is the host target's only stream. A run
// takes the ticket `issued` when it is posted, and starts when `completed` has reached that ticket.
struct HostStream {
  std::mutex mutex;                 // also guards the queues of the rank's operations
  std::condition_variable changed;  // notified when a run is posted or finished, a worker has
                                    // returned, or an operation stops or is aborted
  uint64_t issued = 0;
  uint64_t completed = 0;
  uint64_t operations = 0;  // how many operations were made, without those that do not communicate
  std::vector<std::shared_ptr<HostArena>> arenas;  // the arenas of operations that share their
                                                   // memory
};

// One step of one run on one rank, as it appears in messages and as the ranks compare it.
struct HostStep {
  RunTerms terms;
  int group;  // or one of the constants below

  static constexpr int kExchange = -1;  // a whole run, or an exchange of ranks about a route or an
                                        // output
  static constexpr int kBegin = -2;     // the beginning of a run whose ranks share memory
  static constexpr int kEnd = -3;
};

// A text such as "rank 1, run 7 of 'attn_out', group 2" or "rank 1, route 3 of 'experts'".
std::string name_step(int rank, const HostStep& step);

// A group's counter for which a rank waits. `base` is the counter's value before this run.
struct HostSignal {
  const uint32_t* counter;
  uint32_t base;
  uint32_t target;
  int group;

  uint32_t count() const { return __atomic_load_n(counter, __ATOMIC_ACQUIRE) - base; }
  // Compares by signed distance, which is right when the counter wraps around too.
  bool reached() const { return static_cast<int32_t>(count() - target) >= 0; }
};

class HostGroup {
 public:
  // A thread's stay among other ranks' memory. It lasts from begin_collective() or enter() to the
  // end of the scope, where the thread leaves the group.
  class Visit;

  explicit HostGroup(int world);

  int world() const { return world_; }
  HostStream& stream(int rank) { return members_[rank].stream; }

  // Waits for one group's tiles on this rank, at most `seconds` (0: no deadline). Returns false if
  // the communicator was aborted. If the deadline passes, this wait aborts it.
  bool wait_signal(int rank, const HostStep& step, const HostSignal& signal, double seconds);

  // Waits until every rank has brought, for the same step, what the others may read and write. All
  // ranks may then read and write it until they call end_collective(). Returns false if the
  // communicator was aborted. What a rank has brought, and the memory that it points to, must stay
  // in place until the collective or the group has ended, because ranks that are still in the
  // collective go on reading when another rank gives up.
  bool begin_collective(int rank, const HostStep& step, const void* brought, double seconds);
  bool end_collective(int rank, const HostStep& step, double seconds);
  // Between begin_collective() and end_collective(): waits until every rank has come to the same
  // point. Returns false if the communicator was aborted.
  bool meet_again(int rank, const HostStep& step, double seconds);

  // A thread calls enter() and leave() around any other access to other ranks' memory. Until it
  // leaves, no rank frees that memory. enter() returns false if the communicator was aborted. Then
  // the thread must not access the memory. A rank that ends a collective because of a failure also
  // leaves.
  bool enter();
  void leave();
  // The object that `rank` has brought. All ranks must bring the same type.
  template <class T>
  const T& brought(int rank) const {
    return *static_cast<const T*>(brought_[rank]);
  }

  // Compares the terms of all ranks that have come to run `terms.number` of the operation. It is
  // for runs in which ranks might be in different operations of a family, or might have no rows,
  // and so would never meet. No rank waits. If the terms differ, this call aborts the communicator.
  // Returns false if the communicator was aborted.
  bool compare(int rank, const RunTerms& terms);

  // Ends the communicator, so that every wait on every rank returns. Only the first failure is
  // kept.
  void abort(tilepost_result_t result, const std::string& text);
  bool aborted() const { return aborted_.load(std::memory_order_acquire); }
  // Whether the group was aborted and no rank accesses another rank's buffers any more.
  bool ended() const { return aborted() && inside_.load(std::memory_order_acquire) == 0; }
  // The failure. Requires aborted().
  tilepost_result_t failure() const { return failure_; }
  const char* failure_text() const { return text_.c_str(); }

 private:
  struct Member {
    HostStream stream;
    uint64_t meetings = 0;               // at how many meetings it has arrived so far
    HostStep step{};                     // the step with which it last arrived
    const HostSignal* signal = nullptr;  // the wait of this rank, or null
  };

  // The terms of the first rank that came to a run, kept until all ranks have come to it.
  struct Said {
    RunTerms terms;
    int rank;
    int ranks;  // how many ranks have come so far
  };

  bool meet(int rank, const HostStep& step, const Deadline& deadline,
            std::unique_lock<std::mutex>& lock);
  void report_absent(int rank, const HostStep& step, const Deadline& deadline);
  void leave_locked();
  void abort_locked(tilepost_result_t result, const std::string& text);
  void wake_streams();

  const int world_;
  std::mutex mutex_;                 // guards all members below but the atomics; locked before a
                                     // stream's mutex
  std::condition_variable changed_;  // notified when a meeting is complete, or the group was
                                     // aborted
  std::vector<Member> members_;
  std::vector<const void*> brought_;
  std::map<std::pair<uint64_t, uint64_t>, Said> said_;  // by operation and run
  int arrived_ = 0;
  uint64_t meetings_ = 0;  // how many meetings are complete
  std::atomic<int> inside_{0};
  std::atomic<bool> aborted_{false};
  tilepost_result_t failure_ = TILEPOST_OK;
  std::string text_;
};

class HostGroup::Visit {
 public:
  // Requires that begin_collective() or enter() has returned true.
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
