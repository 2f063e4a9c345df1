// The common state of the operations that the caller sees as one operation. Each of them serves a
// range of m (runtime/core/ranges.h). An operation that is alone is a family of one.
#pragma once

#include <memory>

#include "runtime/core/plan_hash.h"
#include "runtime/core/ranges.h"
#include "runtime/cuda/device/captures.h"
#include "runtime/cuda/shared/arena.h"
#include "runtime/cuda/shared/host/host_rings.h"
#include "runtime/cuda/transport/agreement.h"
#include "runtime/cuda/watch/nvtx.h"

namespace tilepost::cuda {

struct OpFamily {
  explicit OpFamily(PlanRanges its_plans) : plans(std::move(its_plans)) {}

  bool takes_turns() const { return plans.size() > 1; }

  // The part of `bytes` that each operation gets, where the caller gives `bytes` to all operations
  // together.
  int64_t part_of(int64_t bytes) const {
    return std::max<int64_t>(1, bytes / static_cast<int64_t>(plans.size()));
  }

  // The words that identify the runs of each operation in memory that ranks share (RunWords::plan).
  std::vector<uint32_t> words() const {
    std::vector<uint32_t> all;
    for (const tilepost_plan_t* plan : plans)
      all.push_back(word_of_plan(hash_plan(*plan), static_cast<uint64_t>(operation)));
    return all;
  }

  const PlanRanges plans;                 // the program's plans for this device; the program
                                          // outlives them
  std::unique_ptr<Agreement> agreement;   // the agreement between ranks; null if ranks do not
                                          // communicate
  int64_t operation = 0;                  // Communicator::operations
  SharedArenas arenas;                    // of this family alone
  std::shared_ptr<HostRings> host_rings;  // of this family alone; null if no plan needs them
  NvtxNames nvtx;                         // of the operation that the caller sees
  RunOrder order;                         // of the family's runs, all of them exclusive
  Captures captures;                      // of the family's runs
  uint64_t runs = 0;                      // eager runs so far; for the issuing thread only
};

}  // namespace tilepost::cuda
