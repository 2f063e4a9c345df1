#include "generator/infer/state/budget.h"

namespace tilepost::inference {

namespace {

constexpr int kMaxSteps = 4'000'000;      // steps: statements and expressions
constexpr int kMaxSharedSteps = 400'000;  // steps, and also values, if blocks may share a tile
constexpr size_t kMaxNodes = 2'000'000;   // values
constexpr size_t kMaxStores = 100'000;    // a thread's stores, and also its reads of the output

}  // namespace

bool Budget::step(Where where) {
  if (course_.stopped()) return false;
  ++steps_;
  const std::optional<SharedWork>& shared_work = course_.shared_work();
  if (shared_work && (steps_ > kMaxSharedSteps || nodes_.size() > size_t{kMaxSharedSteps})) {
    const Course::Certainly certainly(course_);
    course_.complain(shared_work->where,
                     "blocks wait for each other or add to one tile here (" + shared_work->what +
                         "), and which of them makes a tile cannot be followed",
                     shared_work->where,
                     "use the kernel without split-K: a block must make its tile by itself");
    return false;
  }
  const char* what = steps_ > kMaxSteps          ? "statements and expressions are run"
                     : nodes_.size() > kMaxNodes ? "values are computed"
                     : log_.effects().stores.size() > kMaxStores ? "stores are made by each thread"
                     : log_.effects().reads.size() > kMaxStores
                         ? "reads of the output by each thread"
                         : nullptr;
  if (!what) return true;
  const Course::Certainly certainly(course_);
  const auto bound = steps_ > kMaxSteps          ? size_t{kMaxSteps}
                     : nodes_.size() > kMaxNodes ? kMaxNodes
                                                 : kMaxStores;
  course_.complain(
      where, "more than " + std::to_string(bound) + " " + what + " to find where the kernel stores",
      where, "mark the kernel instead: tilepost::tile, out_base and tile_done");
  return false;
}

}  // namespace tilepost::inference
