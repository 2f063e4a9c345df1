#include "runtime/cuda/shared/layout.h"

#include <algorithm>

#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/shared/tasks.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/slots.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

// Reserves regions one after the other.
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

SharedLayout shared_layout(const tilepost_plan_t& plan, const RunSizes& most, int counters,
                           int parts) {
  SharedLayout layout;
  const RunPath path = path_of(plan, true);
  if (!path.shares_memory()) return layout;
  const bool exchanges = path.exchanged == Memory::shared;
  const bool gathers = row_of(plan).moves_input();
  const int64_t width = element_bytes(plan.output);
  Regions regions;
  layout.counters = std::max(counters, shared_counters(plan));
  layout.flags = regions.take(shared_flags_bytes(layout.counters, plan.ranks));
  layout.warm_up = regions.take(SharedLayout::kRegionAlignment);
  layout.parts = std::max(parts, exchanged_parts(plan));
  layout.arrived = regions.take(exchange_flags_bytes(layout.parts));
  layout.send = regions.take(exchanges && !gathers ? most.send * width : 0);
  const int64_t rows_of_a = exchanges && gathers ? place_of_rows(plan, plan.map.m).bytes : 0;
  layout.gathered = regions.take(rows_of_a);
  layout.gathered_bytes = regions.end() - layout.gathered;
  if (path.places_of_rows() > 1) regions.take(rows_of_a);
  layout.slots = regions.take(most.slots * width);
  layout.slot_bytes = most.slots * width / slots_of(plan, plan.map).blocks;
  layout.sums = regions.take(most.sums * width);
  layout.landed = regions.take(most.landed * width);
  layout.bytes = regions.end();
  layout.pushed = path.pushes == Pushes::results ? layout.landed : layout.bytes;
  return layout;
}

// In a layout with fewer counters or parts than `made`, regions would begin among the counters and
// parts of `made`.
bool fits(const SharedLayout& made, const SharedLayout& wanted) {
  return wanted.counters == made.counters && wanted.parts == made.parts &&
         wanted.pushed <= made.pushed && wanted.bytes - wanted.pushed <= made.bytes - made.pushed;
}

}  // namespace tilepost::cuda
