// What operations have in common that are one to their caller, each for a range of m
// (runtime/core/ranges.h). An operation that is alone is a family of one.
#pragma once

#include <memory>

#include "runtime/core/plan_hash.h"
#include "runtime/core/ranges.h"
#include "runtime/cuda/device/captures.h"
#include "runtime/cuda/shared/arena.h"
#include "runtime/cuda/transport/agreement.h"

namespace tilepost::cuda {

struct OpFamily {
  explicit OpFamily(PlanRanges its_plans) : plans(std::move(its_plans)) {}

  bool takes_turns() const { return plans.size() > 1; }

  // What one of them gets of what the caller gives all.
  int64_t part_of(int64_t bytes) const {
    return std::max<int64_t>(1, bytes / static_cast<int64_t>(plans.size()));
  }

  // What the runs of each are in memory that ranks share.
  std::vector<uint32_t> words() const {
    std::vector<uint32_t> all;
    for (const tilepost_plan_t* plan : plans)
      all.push_back(word_of_plan(hash_plan(*plan), static_cast<uint64_t>(operation)));
    return all;
  }

  const PlanRanges plans;                // for this device, of the program, which outlives it
  std::unique_ptr<Agreement> agreement;  // of the ranks about them; null where there is but one
  int64_t operation = 0;                 // Communicator::operations
  SharedArenas arenas;                   // theirs alone
  RunOrder order;                        // of their runs, all of which are exclusive in it
  Captures captures;                     // of their runs
  uint64_t runs = 0;                     // eager ones so far; of the thread that issues them
};

}  // namespace tilepost::cuda
