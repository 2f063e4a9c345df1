#include "runtime/cuda/shared/layout.h"

#include <algorithm>

#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/shared/tasks.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

// Takes regions one after the other.
class Regions {
 public:
  int64_t take(int64_t bytes) {
    const int64_t begin = end_;
    end_ += (bytes + SharedLayout::kRegionAlignment - 1) / SharedLayout::kRegionAlignment *
            SharedLayout::kRegionAlignment;
    return begin;
  }
  int64_t end() const { return end_; }

 private:
  int64_t end_ = 0;
};

}  // namespace

SharedLayout shared_layout(const tilepost_plan_t& plan, const RunSizes& most, int counters) {
  SharedLayout layout;
  if (plan.access == TILEPOST_ACCESS_MESSAGES) return layout;
  const bool reads = plan.access == TILEPOST_ACCESS_READ;
  const bool gathers = plan.pattern == TILEPOST_ALL_GATHER_GEMM;
  const int64_t width = element_bytes(plan.output);
  const int64_t blocks = reads || plan.sum == TILEPOST_SUM_STAGED ? plan.ranks : 1;
  Regions regions;
  layout.counters = std::max(counters, shared_counters(plan));
  layout.flags = regions.take(shared_flags_bytes(layout.counters, plan.ranks));
  layout.warm_up = regions.take(SharedLayout::kRegionAlignment);
  layout.send = regions.take(reads && !gathers ? most.send * width : 0);
  layout.gathered = regions.take(gathers ? plan.map.m * plan.k * element_bytes(plan.input) : 0);
  layout.slots = regions.take(most.slots * width);
  layout.slot_bytes = most.slots * width / blocks;
  layout.sums = regions.take(most.sums * width);
  layout.landed = regions.take(most.landed * width);
  layout.bytes = regions.end();
  layout.pushed = pushes_sums(plan) ? layout.landed : layout.bytes;
  return layout;
}

// With fewer counters than `made` has, regions would begin among these.
bool fits(const SharedLayout& made, const SharedLayout& wanted) {
  return wanted.counters == made.counters && wanted.pushed <= made.pushed &&
         wanted.bytes - wanted.pushed <= made.bytes - made.pushed;
}

}  // namespace tilepost::cuda
