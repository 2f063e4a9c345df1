// Every rank ends with its share of the sum of all products.
#include "generator/plan/verify/traffic.h"

namespace tilepost {
namespace {

// Tiles that kernels exchange are cut without regard to shares.
tilepost_division_t division(const Plan& plan) {
  if (plan.map.layout == TILEPOST_TILE) return TILEPOST_DIVISION_COLUMNS;
  if (plan.planned_transport == TILEPOST_TRANSPORT_PEER_TILES) return TILEPOST_DIVISION_ROWS;
  return plan.transport != TILEPOST_TRANSPORT_NONE ? TILEPOST_DIVISION_SHARES
                                                   : TILEPOST_DIVISION_ROWS;
}

bool pushes_as_it_may(const Plan& plan) {
  return plan.pushes == 0;
}

// Slabs of tile columns are as long as a whole share, with padding where this rank's is shorter.
std::vector<Wanted> wanted(const Plan& plan, const Traffic&, int rank) {
  const Geometry geometry(plan);
  const bool panel = plan.map.layout == TILEPOST_PANEL;
  const int64_t columns = panel ? 1 : geometry.tiles_n, own = geometry.rows_of(rank);
  std::vector<Wanted> all;
  for (int64_t column = 0; column < columns; ++column) {
    all.push_back({own, kAnyRank, rank * geometry.share, column * geometry.tile_n});
    if (!panel) all.push_back({geometry.share - own, kAnyRank, kAny, kAny});
  }
  return all;
}

}  // namespace

const PatternCheck kGemmReduceScatterCheck = {division, pushes_as_it_may, wanted, follow_product};

}  // namespace tilepost
