// Every rank ends with all rows of A, in natural order.
#include "generator/plan/verify/arrivals.h"

namespace tilepost {
namespace {

void follow(const Plan& plan, const Traffic& traffic, Findings& findings) {
  if (plan.access == TILEPOST_ACCESS_TILES) return follow_rows(plan, findings);
  const Geometry geometry(plan);
  RowBlocks arrivals;
  for (int source = 0; source < plan.ranks; ++source) {
    const RowBlock share = {0, std::min(source * geometry.share, geometry.m),
                            geometry.rows_of(source)};
    arrivals.blocks.emplace_back(plan.ranks, share);
  }
  follow_arrivals(plan, traffic, arrivals, findings);
}

}  // namespace

const PatternCheck kAllGatherGemmCheck = {division_of_arrivals, pushes_arrivals, nullptr, follow};

}  // namespace tilepost
