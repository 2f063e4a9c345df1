#include "runtime/map/slots.h"

#include "runtime/map/patterns.h"
#include "runtime/map/tile_map.h"

namespace tilepost {

Slots slots_of(const tilepost_plan_t& plan, const tilepost_map_t& map) {
  const bool added = plan.access == TILEPOST_ACCESS_WRITE && plan.sum == TILEPOST_SUM_ADDED;
  return {int64_t{share_tiles(map)} * map.tile_m * map.n, added ? 1 : plan.ranks};
}

int64_t landed_row(const tilepost_map_t& map, int source, int owner) {
  return source * rows_of_rank(map, owner);
}

OwnerPlace place_at_owner(const tilepost_plan_t& plan, const Slots& slots,
                          const tilepost_map_t& map, int source, int owner) {
  if (row_of(plan).sums) return {true, slots.at(source, 0)};
  return {false, landed_row(map, source, owner) * map.n};
}

}  // namespace tilepost
