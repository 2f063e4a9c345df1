#include "runtime/verify/audit/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "runtime/schedule/run_map.h"

namespace tilepost::verify {
namespace {

// Shuffles a list. std::shuffle is not used, because its order for a seed differs between standard
// libraries.
template <class T>
void shuffle(std::vector<T>& list, std::mt19937_64& random) {
  for (size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random() % i]);
}

}  // namespace

uint32_t signals_of(const tilepost_plan_t& plan) {
  const bool arrives = plan.map.division == TILEPOST_DIVISION_ARRIVALS;
  return arrives ? 0 : static_cast<uint32_t>(plan.map.signals_per_tile);
}

Schedule planned_schedule(const tilepost_plan_t& plan, int64_t m) {
  const std::unique_ptr<RunMap> run = make_run_map(plan, 0, m);
  Schedule schedule;
  schedule.name = "the plan's";
  schedule.tiles = run->tiles.tiles;
  for (const tilepost_group_t& group : run->tiles.groups)
    schedule.targets.push_back(signals_of(plan) == 0 ? 0 : group.target);
  schedule.rows = run->tiles.send_elements / plan.map.n;
  return schedule;
}

Schedule random_schedule(const tilepost_plan_t& plan, int64_t m, const Schedule& other,
                         uint64_t seed) {
  constexpr size_t kPaddingEvery = 7, kMostGroups = 5;
  const auto cluster = static_cast<size_t>(plan.map.cluster);
  const int32_t tile_m = plan.map.tile_m;
  std::mt19937_64 random(seed);
  std::vector<std::vector<tilepost_tile_t>> units;
  for (size_t i = 0; i < other.tiles.size(); i += cluster)
    units.emplace_back(other.tiles.begin() + static_cast<ptrdiff_t>(i),
                       other.tiles.begin() + static_cast<ptrdiff_t>(i + cluster));
  for (size_t i = 0, padding = 1 + units.size() / kPaddingEvery; i < padding; ++i) {
    units.push_back(units[random() % units.size()]);
    for (tilepost_tile_t& tile : units.back()) tile.row = -1;
  }
  shuffle(units, random);

  Schedule schedule;
  schedule.name = "random, seed " + std::to_string(seed);
  schedule.targets.resize(std::min(kMostGroups, units.size()));
  for (std::vector<tilepost_tile_t>& unit : units) {
    const auto group = static_cast<int32_t>(random() % schedule.targets.size());
    for (tilepost_tile_t& tile : unit) {
      tile.group = group;
      schedule.targets[static_cast<size_t>(group)] += signals_of(plan);
      schedule.tiles.push_back(tile);
    }
  }
  // Every column gets two places more than the fullest column has tiles, so that some stay empty.
  std::map<int32_t, int32_t> in_column;
  for (const tilepost_tile_t& tile : schedule.tiles) in_column[tile.n] += tile.row >= 0;
  int32_t most = 0;
  for (const auto& [column, count] : in_column) most = std::max(most, count + 2);
  std::map<int32_t, std::vector<int32_t>> places;
  for (const auto& [column, count] : in_column) {
    std::vector<int32_t>& list = places[column];
    list.resize(static_cast<size_t>(most));
    std::iota(list.begin(), list.end(), 0);
    shuffle(list, random);
  }
  const auto is_whole = [&](const tilepost_tile_t& tile) {
    return extent_of(plan, tile, m).rows == tile_m;
  };
  schedule.rows = int64_t{most} * tile_m;
  for (tilepost_tile_t& tile : schedule.tiles) {
    if (tile.row < 0) continue;
    if (is_whole(tile)) {
      tile.row = places[tile.n].back() * tile_m;
      places[tile.n].pop_back();
    } else {
      tile.row = most * tile_m;
      schedule.rows = tile.row + extent_of(plan, tile, m).rows;
    }
  }
  return schedule;
}

TileExtent extent_of(const tilepost_plan_t& plan, const tilepost_tile_t& tile, int64_t m) {
  return {std::min<int64_t>(plan.map.tile_m, m - tile.m),
          std::min<int64_t>(plan.map.tile_n, plan.map.n - tile.n)};
}

int64_t spare_rows(const tilepost_plan_t& plan, const tilepost_tile_t& tile,
                   const Schedule& schedule, int64_t m) {
  // A kernel with user data takes the arguments that the spec names, and no tensor map is among
  // them.
  if (plan.kernel.launch != TILEPOST_LAUNCH_CUSTOM || plan.kernel.num_user > 0) return 0;
  const int64_t rows = extent_of(plan, tile, m).rows;
  return std::clamp<int64_t>(schedule.rows - tile.row - rows, 0, plan.map.tile_m - rows);
}

}  // namespace tilepost::verify
