#include "generator/plan/choose/draft.h"

#include "generator/plan/transports/transports.h"

namespace tilepost {

tilepost_division_t division_of(const Plan& plan, tilepost_transport_t transport) {
  const PatternRow& row = row_of(plan);
  const Transport& carrier = transport_of(transport);
  if (row.moves_input())
    return carrier.row.overlaps ? TILEPOST_DIVISION_ARRIVALS : TILEPOST_DIVISION_ROWS;
  // Ranks that share memory sum one share each, and then the others get the sums. Kernels that
  // exchange tiles need no shares.
  if (row.product_spreads())
    return row.has_shares(carrier.access()) ? TILEPOST_DIVISION_SHARES : TILEPOST_DIVISION_ROWS;
  if (!row.product_leaves()) return TILEPOST_DIVISION_ROWS;
  if (plan.map.layout == TILEPOST_TILE) return TILEPOST_DIVISION_COLUMNS;
  if (carrier.access() == TILEPOST_ACCESS_TILES) return TILEPOST_DIVISION_ROWS;
  // With routing by rows the rank of a row is not known when planning.
  return carrier.row.overlaps && plan.routing != TILEPOST_ROUTING_ROWS ? TILEPOST_DIVISION_SHARES
                                                                       : TILEPOST_DIVISION_ROWS;
}

tilepost_map_t Draft::recipe(const KernelChoice& kernel, tilepost_transport_t transport) const {
  tilepost_map_t map = {};
  map.m = plan.map.m;
  map.n = plan.map.n;
  map.tile_m = kernel.config.tile_m;
  map.tile_n = kernel.config.tile_n;
  map.cluster = kernel.request.cluster;
  map.band = kernel.request.band;
  map.signals_per_tile = signals_per_tile(kernel.config);
  map.layout = plan.map.layout;
  set_division(map, plan, division_of(plan, transport), access_of(transport));
  return map;
}

}  // namespace tilepost
