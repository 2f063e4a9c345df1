// Every rank ends with the sum of all products.
#include "generator/plan/verify/traffic.h"

namespace tilepost {
namespace {

// A share is summed by the rank that reads its parts or to which they are stored. Kernels that
// exchange tiles need no shares: they divide each tile.
tilepost_division_t division(const Plan& plan) {
  const bool shares = plan.access == TILEPOST_ACCESS_READ || plan.access == TILEPOST_ACCESS_WRITE;
  return shares ? TILEPOST_DIVISION_SHARES : TILEPOST_DIVISION_ROWS;
}

// Sums are pushed to all ranks where the kernel, which does not wait for copies, has summed parts
// that lie side by side.
bool pushes_as_it_may(const Plan& plan) {
  if (plan.access == TILEPOST_ACCESS_TILES)
    return plan.pushes == (plan.shots == TILEPOST_TWO_SHOT ? 1 : 0);
  if (plan.access != TILEPOST_ACCESS_WRITE) return plan.pushes == 0;
  const bool inside = moves_inside(plan);
  return plan.pushes != 0 ? plan.sum == TILEPOST_SUM_STAGED && (inside || plan.arch == Arch::host)
                          : !inside;
}

// With messages the collective sums the send buffer in place. Only the number of rows is checked,
// not where they lie.
std::vector<Wanted> wanted(const Plan& plan, const Traffic&, int) {
  if (plan.map.division == TILEPOST_DIVISION_SHARES) return {{plan.map.m, kAnyRank, 0, 0}};
  const int64_t width = plan.map.layout == TILEPOST_PANEL ? plan.map.n : plan.map.tile_n;
  return {{plan.tile_map().send_elements / width, kAnyRank, kAny, kAny}};
}

}  // namespace

const PatternCheck kGemmAllReduceCheck = {division, pushes_as_it_may, wanted, follow_product};

}  // namespace tilepost
