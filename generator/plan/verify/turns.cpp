// Where a kernel adds other ranks' tiles to its own (tilepost_plan_t::fused_sum): checks that no
// rank waits for a rank that waits for it.
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

// Checks that the kernel's source says that it adds parts and of how many ranks, that tiles come in
// turns, and that nothing else adds up.
bool check_sources(const Plan& plan, Findings& findings) {
  const auto sources = plan.source.tunables.find("SOURCES");
  const bool adds = sources != plan.source.tunables.end();
  const bool alone = plan.access == TILEPOST_ACCESS_WRITE && row_of(plan).sums &&
                     plan.task_parts == 0 && plan.sum == TILEPOST_SUM_STAGED;
  const bool right = plan.fused_sum == 0
                         ? !adds && plan.map.turn == 0 && plan.map.lag == 0
                         : adds && sources->second == std::to_string(plan.ranks - 1) && alone &&
                               plan.meets != 0 && plan.map.turn > 0 && plan.map.lag >= 0 &&
                               plan.map.turn % plan.map.cluster == 0 && plan.map.num_groups == 1;
  if (!right)
    findings.add(
        fmt::format("a kernel that adds {} sources, fused sums {}, turns of {} and lag {}, "
                    "{} task parts, {} groups",
                    adds ? sources->second : "no", plan.fused_sum, plan.map.turn, plan.map.lag,
                    plan.task_parts, plan.map.num_groups));
  return right;
}

}  // namespace

void verify_turns(const Plan& plan, Findings& findings) {
  if (!check_sources(plan, findings) || plan.fused_sum == 0 || !findings.empty()) return;
  std::vector<TileMap> maps;
  for (int rank = 0; rank < plan.ranks; ++rank)
    maps.push_back(build_tile_map(plan.map, {.rank = rank, .splits = {}}));
  for (int owner = 0; owner < plan.ranks; ++owner) check_owner(plan, maps, owner, findings);
}

}  // namespace tilepost
