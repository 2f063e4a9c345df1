#include "generator/plan/plan.h"

#include <algorithm>

#include "generator/plan/arch.h"

namespace tilepost {

Plan::Plan() : tilepost_plan_t{} {
  ranks = 1;
  comm_lanes = 1;
  transport = planned_transport;
  map.cluster = 1;
  map.band = 1;
  map.signals_per_tile = 1;
  map.ranks = 1;
  kernel = KernelPlan().kernel;
}

void Plan::set_transport(tilepost_transport_t planned) {
  planned_transport = planned;
  const bool threads = arch == Arch::host && planned != TILEPOST_TRANSPORT_NONE;
  transport = threads ? TILEPOST_TRANSPORT_HOST : planned;
  access = access_of(planned);
}

void Plan::set_kernel(KernelPlan chosen) {
  kernel = chosen.kernel;
  kernel.arch = arch_info(arch).number;
  source = std::move(chosen.source);
}

void Plan::set_cuts(std::vector<int32_t> cuts) {
  map.num_groups = static_cast<int32_t>(cuts.size());
  cuts_ = std::make_shared<const std::vector<int32_t>>(std::move(cuts));
  map.cuts = cuts_->data();
}

void Plan::set_tile_map(TileMap tile_map) {
  tile_map_ = std::make_shared<TileMap>(std::move(tile_map));
  groups = tile_map_->groups.data();
  map_hash = hash_tile_map(*tile_map_);
}

TileMap& Plan::own_tile_map() {
  if (tile_map_.use_count() > 1) {
    tile_map_ = std::make_shared<TileMap>(*tile_map_);
    groups = tile_map_->groups.data();
  }
  return *tile_map_;
}

// Copy engines are fastest with one large copy at a time, so that shares arrive in turns. Helper
// warps store what they have read to all ranks at once, and collectives are of all ranks.
void set_division(tilepost_map_t& map, const Plan& plan, tilepost_division_t division,
                  tilepost_access_t access) {
  map.division = division;
  map.ranks = row_of(plan).has_shares(access) ? plan.ranks : 1;
  map.round_robin = division == TILEPOST_DIVISION_ARRIVALS && access == TILEPOST_ACCESS_READ;
}

const Plan& second_half_of(const std::vector<Plan>& plans, const Plan& first) {
  return *std::ranges::find_if(plans, [&](const Plan& plan) {
    return plan.half == Half::second && plan.arch == first.arch && plan.range == 0;
  });
}

}  // namespace tilepost
