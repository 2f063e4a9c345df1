// Every rank ends with the rows of all products that are routed to it, by source.
#include "generator/plan/verify/traffic.h"

namespace tilepost {
namespace {

// Rows that go anywhere have no share before they are routed. Tiles that kernels exchange are cut
// without regard to shares.
tilepost_division_t division(const Plan& plan) {
  if (plan.map.layout == TILEPOST_TILE) return TILEPOST_DIVISION_COLUMNS;
  if (plan.planned_transport == TILEPOST_TRANSPORT_PEER_TILES) return TILEPOST_DIVISION_ROWS;
  return plan.transport != TILEPOST_TRANSPORT_NONE && plan.routing != TILEPOST_ROUTING_ROWS
             ? TILEPOST_DIVISION_SHARES
             : TILEPOST_DIVISION_ROWS;
}

bool pushes_as_it_may(const Plan& plan) {
  return (plan.pushes != 0) == (plan.fused != 0);
}

std::vector<Wanted> wanted(const Plan& plan, const Traffic& traffic, int rank) {
  const Geometry geometry(plan);
  const int64_t columns = plan.map.layout == TILEPOST_PANEL ? 1 : geometry.tiles_n;
  std::vector<Wanted> all;
  for (int source = 0; source < plan.ranks; ++source)
    for (int64_t column = 0; column < columns; ++column)
      for (const Traffic::Run& run : traffic.sent[source][rank])
        all.push_back({run.rows, source, run.m, column * geometry.tile_n});
  return all;
}

}  // namespace

const PatternCheck kGemmAllToAllCheck = {division, pushes_as_it_may, wanted, follow_product};

}  // namespace tilepost
