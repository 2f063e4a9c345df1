// The orders in which an operation's eager runs take turns with the runs of other operations.
#pragma once

#include <memory>

#include "runtime/cuda/op/run.h"
#include "runtime/cuda/shared/run_order.h"

namespace tilepost::cuda {

class RunOrders {
 public:
  // `comm` orders the communicator's runs that communicate. It is null for an operation whose runs
  // do not. `family` orders the runs of all plans that are one operation to the caller. It is null
  // if the plan is alone. `transports` have the order of the memory that ranks share, if any.
  // `family` and `transports` outlive this object.
  RunOrders(std::shared_ptr<RunOrder> comm, RunOrder* family, const Transports& transports)
      : comm_(std::move(comm)), family_(family), transports_(transports) {}

  // Lets a run on the caller's stream `stream_id` follow the runs that it has to follow.
  tilepost_result_t follow(const Run& run, unsigned long long stream_id);
  // Adds a run for which follow() was called.
  void add(const Run& run, unsigned long long stream_id);
  // Takes the operation out of the orders. Called when its runs have ended, before its events and
  // the memory that ranks share are destroyed.
  void leave();

 private:
  RunOrder* shared() const;

  const std::shared_ptr<RunOrder> comm_;
  RunOrder* const family_;
  const Transports& transports_;
  RunOrder::Member in_comm_, in_arena_, in_family_;
};

}  // namespace tilepost::cuda
