// Checks fused plans (tilepost_plan_t::fused): that their fields agree, and, where the epilogue
// adds other ranks' tiles, that ranks never wait for each other in a circle.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "generator/plan/verify/parts.h"
#include "runtime/map/tile_map.h"

namespace tilepost {
namespace {

// CTAs take their positions in ascending order, and only tiles of a rank's own rows wait. Let no
// tile be at a higher position on another rank than on its owner. Then, of all tiles that wait, the
// one at the lowest position waits for tiles that nothing keeps from being computed.
void check_owner(const Plan& plan, const std::vector<TileMap>& maps, int owner,
                 Findings& findings) {
  const int64_t columns = tiles_n(plan.map), share = share_tiles(plan.map) * columns;
  for (int64_t tile = owner * share; tile < (owner + 1) * share && !findings.full(); ++tile) {
    const int32_t own = maps[owner].positions[tile];
    for (int rank = 0; rank < plan.ranks; ++rank)
      if (maps[rank].positions[tile] > own)
        findings.add(
            fmt::format("tile {} of rank {} is added at position {}, which rank {} "
                        "computes at {}",
                        tile, owner, own, rank, maps[rank].positions[tile]));
  }
}

std::string tunable_of(const Plan& plan, const char* name) {
  const auto found = plan.source.tunables.find(name);
  return found == plan.source.tunables.end() ? "" : found->second;
}

// Checks that the kernel's source says that it is fused, and how many parts it adds, that tiles
// come in turns, that rows that are finished are pushed, and that nothing else adds up or moves.
bool check_sources(const Plan& plan, Findings& findings) {
  const std::string fused = tunable_of(plan, "FUSED"), sources = tunable_of(plan, "SOURCES");
  const bool sums = row_of(plan).sums;
  const bool alone = plan.access == TILEPOST_ACCESS_WRITE && row_of(plan).moves_product() &&
                     plan.task_parts == 0 && plan.sum == TILEPOST_SUM_STAGED && plan.whole_run != 0;
  const bool turns = plan.map.turn > 0 && plan.map.lag >= 0 &&
                     plan.map.turn % plan.map.cluster == 0 && plan.map.num_groups == 1;
  const bool pushes = (plan.pushes != 0) == (row_of(plan).product_spreads() || !sums);
  const bool right =
      plan.fused == 0 ? fused.empty() && sources.empty() && plan.map.turn == 0 && plan.map.lag == 0
                      : fused == "1" && sources == (sums ? std::to_string(plan.ranks - 1) : "") &&
                            alone && turns && pushes && (sums || plan.row_gap == 0);
  if (!right)
    findings.add(fmt::format(
        "a kernel that is fused {} and adds {} sources, and a plan that is fused {}, "
        "with turns of {} and lag {}, {} task parts, {} groups, pushes {}, row gap {}",
        fused.empty() ? "0" : fused, sources.empty() ? "no" : sources, plan.fused, plan.map.turn,
        plan.map.lag, plan.task_parts, plan.map.num_groups, plan.pushes, plan.row_gap));
  return right;
}

}  // namespace

void verify_turns(const Plan& plan, Findings& findings) {
  if (!check_sources(plan, findings) || plan.fused == 0 || !findings.empty()) return;
  if (!row_of(plan).sums) return;  // no tile waits for another
  std::vector<TileMap> maps;
  for (int rank = 0; rank < plan.ranks; ++rank)
    maps.push_back(build_tile_map(plan.map, {.rank = rank, .splits = {}}));
  for (int owner = 0; owner < plan.ranks; ++owner) check_owner(plan, maps, owner, findings);
}

}  // namespace tilepost
