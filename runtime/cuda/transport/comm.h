// One rank's communicator: the caller's NCCL communicator or one of the runtime's, and the child
// communicators that operations use. Ranks that share memory of their host get along without NCCL
// until an operation has collectives of NCCL.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/cuda/device/check.h"
#include "runtime/cuda/shared/arena.h"
#include "runtime/cuda/shared/number_exchange.h"
#include "runtime/cuda/shared/run_order.h"
#include "runtime/cuda/transport/bootstrap/bootstrap.h"

namespace tilepost::cuda {

// A child communicator. The thread that runs operations issues collectives on it, and a watchdog
// aborts it. NCCL allows only one thread inside a communicator, so both threads lock.
class ChildComm {
 public:
  explicit ChildComm(AbortedFlag aborted) : aborted_(std::move(aborted)) {}
  ChildComm(const ChildComm&) = delete;
  ChildComm& operator=(const ChildComm&) = delete;
  ~ChildComm();

  // Makes a communicator of all ranks of `parent` (ncclCommSplit), whose collectives take at most
  // `max_ctas` CTAs (0: NCCL's default). All ranks call it. If `parent` is non-blocking, waits
  // until it is ready.
  tilepost_result_t split_from(ncclComm_t parent, int rank, int max_ctas);

  // Calls body(ncclComm_t), which issues NCCL calls and returns a result, while no other thread is
  // inside. If `grouped`, the calls are one NCCL group. After abort() it returns TILEPOST_ABORTED
  // without a call.
  template <class Body>
  tilepost_result_t issue(bool grouped, Body body) {
    const std::lock_guard lock(mutex_);
    TILEPOST_TRY(check_usable());
    if (!grouped) return body(comm_);
    TILEPOST_NCCL(ncclGroupStart());
    const tilepost_result_t issued = body(comm_);
    // The group is ended even after an error. If it stayed open it would swallow this thread's next
    // calls.
    const ncclResult_t ended = ncclGroupEnd();
    if (issued != TILEPOST_OK || ended == ncclSuccess) return issued;
    return fail_nccl(TILEPOST_PLACE(ncclGroupEnd()), ended);
  }

  // Returns TILEPOST_OK, or the error that NCCL met in the background.
  tilepost_result_t check_async();

  // Ends the communicator's collectives, even those that hang on the device, and marks the whole
  // communicator aborted. Any thread may call, more than once. ncclCommAbort frees memory, and so
  // waits for all work on the device. Therefore hanging collectives of another communicator on this
  // device must be aborted at the same time (Transports::abort). ncclCommAbort waits for work of
  // others on a thread of its own, so this call returns within some seconds.
  void abort();

  const AbortedFlag& aborted() const { return aborted_; }

 private:
  tilepost_result_t check_usable() const;
  bool lock_or_revoke(std::unique_lock<std::timed_mutex>& lock);

  std::timed_mutex mutex_;
  ncclComm_t comm_ = nullptr;
  AbortedFlag aborted_;
  std::atomic<bool> abort_begun_ = false;
};

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  // Takes some seconds at most, whatever has become of the other ranks. NCCL releases the rest
  // later, or never.
  ~Communicator();

  // One of these is called, once. It binds the communicator to the current device.
  tilepost_result_t init(const tilepost_unique_id_t& id, int rank, int world);
  tilepost_result_t init_with(const Bootstrap& bootstrap);
  tilepost_result_t adopt(ncclComm_t nccl);

  // Gets the child with this CTA budget for this lane, made on first use. Collective when it has to
  // be made. Then it waits for the other ranks, for the longer of `seconds` (0: for ever) and a
  // time that NCCL always gets. After a timeout the communicator is aborted.
  tilepost_result_t child(int max_ctas, int lane, double seconds,
                          std::shared_ptr<ChildComm>& child);

  // Gets the channel by which ranks exchange numbers, the same whatever the ranks' plans are. It is
  // made on first use. Collective when it has to be made.
  tilepost_result_t control(double seconds, std::shared_ptr<ControlChannel>& control);

  int device() const { return device_; }
  int rank() const { return rank_; }
  int world() const { return world_; }
  bool is_aborted() const { return aborted_->load(); }
  // Set when an operation of the communicator has aborted.
  const AbortedFlag& aborted() const { return aborted_; }
  // The order of the runs that communicate.
  const std::shared_ptr<RunOrder>& order() const { return order_; }
  // The number of operations on which the ranks have agreed so far, the same on all ranks. While an
  // operation is being made, this is its number (RunTerms::operation).
  int64_t operations() const { return operations_; }
  void count_operation() { ++operations_; }
  // The arenas of operations that share memory with each other.
  SharedArenas& arenas() { return arenas_; }

 private:
  tilepost_result_t set_ranks(int rank, int world);
  template <class Comm, class Make>
  tilepost_result_t make_in_time(double seconds, Comm& comm, Make make);
  tilepost_result_t make_parent(double seconds);
  tilepost_result_t share_id(double seconds, tilepost_unique_id_t& id);
  tilepost_result_t split(int max_ctas, double seconds, std::shared_ptr<ChildComm>& child);

  int device_ = 0, rank_ = 0, world_ = 0;
  ncclComm_t nccl_ = nullptr;
  bool split_is_open_ = false;  // whether NCCL is still splitting it, which may last for ever
  bool owned_ = false;
  std::shared_ptr<HostMeeting> on_host_;  // null if ranks exchange numbers by NCCL
  AbortedFlag aborted_ = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<RunOrder> order_ = std::make_shared<RunOrder>();
  int64_t operations_ = 0;
  SharedArenas arenas_;
  std::map<std::pair<int, int>, std::shared_ptr<ChildComm>> children_;  // by CTA budget and lane
};

}  // namespace tilepost::cuda
