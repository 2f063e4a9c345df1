#include "runtime/map/steps.h"

#include <algorithm>

#include "runtime/map/patterns.h"
#include "runtime/map/steps/parts.h"

namespace tilepost {
namespace {

// The steps of each pattern, in the order of kPatterns. An entry is null if nothing moves.
const PatternSteps* const kSteps[] = {&kGemmAllReduceSteps,
                                      nullptr,
                                      &kGemmReduceScatterSteps,
                                      &kGemmAllToAllSteps,
                                      &kAllGatherGemmSteps,
                                      &kAllToAllGemmSteps,
                                      nullptr,
                                      &kAllGatherGemmSteps,
                                      &kGemmReduceScatterSteps};
static_assert(std::size(kSteps) == std::size(kPatterns));

}  // namespace

Exchange exchange_of(const tilepost_plan_t& plan) {
  return {plan.pattern,
          plan.routing,
          plan.ranks,
          plan.k,
          plan.transport != TILEPOST_TRANSPORT_NONE,
          plan.access,
          plan.map,
          plan.pushes != 0};
}

EdgeRows edges_of(const tilepost_map_t& map, int64_t k, const Step& own) {
  const int64_t begin = own.to / k, rows = own.count / k, end = begin + rows, tile = map.tile_m;
  const int64_t last = end == map.m ? 0 : std::min(rows, end % tile);
  const int64_t first = begin % tile == 0 ? 0 : std::min(rows, tile - begin % tile);
  EdgeRows edges{};
  const auto add = [&](int64_t row, int64_t count) {
    if (count > 0)
      edges.steps[edges.count++] = {own.kind,         own.peer,  own.from + row * k,
                                    own.to + row * k, count * k, 0};
  };
  if (first + last >= rows) {
    add(0, rows);
    return edges;
  }
  add(rows - last, last);
  add(0, first);
  return edges;
}

std::vector<Step> steps_of(const Exchange& exchange, const TileMap& tile_map, int group, int rank,
                           const RowCounts& counts) {
  std::vector<Step> steps;
  const PatternSteps* const pattern = kSteps[exchange.pattern];
  if (pattern == nullptr || (exchange.overlaps && exchange.access == TILEPOST_ACCESS_TILES))
    return steps;
  const bool shares = exchange.overlaps && exchange.access != TILEPOST_ACCESS_MESSAGES;
  GroupSteps own{exchange, exchange.map, tile_map, group, rank, counts, steps};
  (shares ? pattern->shared : pattern->messages)(own);
  return steps;
}

// A tile's rows determine its owner, for no tile crosses the border of a share.
std::vector<uint32_t> counter_targets(const Exchange& exchange, const TileMap& tile_map, int rank) {
  std::vector<uint32_t> targets;
  targets.reserve(tile_map.groups.size());
  for (const tilepost_group_t& group : tile_map.groups) targets.push_back(group.target);
  if (exchange.access != TILEPOST_ACCESS_WRITE || row_of(exchange.pattern).moves_input())
    return targets;
  const tilepost_map_t& map = exchange.map;
  const int raised = map.signals_per_tile * (exchange.overlaps ? exchange.ranks : 1);
  std::ranges::fill(targets, 0);
  for (const tilepost_tile_t& tile : tile_map.tiles)
    if (tile.row >= 0 && (!exchange.overlaps || tile.m / share_rows(map) == rank))
      targets[tile.group] += static_cast<uint32_t>(raised);
  return targets;
}

int64_t send_buffer_elements(const Exchange& exchange, const TileMap& tile_map) {
  const PatternSteps* const pattern = kSteps[exchange.pattern];
  if (pattern == nullptr || pattern->sent == nullptr) return tile_map.send_elements;
  return std::max(tile_map.send_elements, pattern->sent(exchange));
}

int64_t received_elements(const Exchange& exchange, const TileMap& tile_map, int rank,
                          const RowCounts& counts) {
  const PatternSteps* const pattern = kSteps[exchange.pattern];
  if (pattern == nullptr || pattern->received == nullptr) return tile_map.send_elements;
  return pattern->received(exchange, tile_map, rank, counts);
}

}  // namespace tilepost
