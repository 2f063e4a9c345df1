// Schedules with which the audit runs a woven kernel: the plan's schedule, and random ones.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost::verify {

struct Schedule {
  std::string name;  // such as "the plan's" or "random, seed 7"
  std::vector<tilepost_tile_t> tiles;
  std::vector<uint32_t> targets;  // [groups] what the group's counter rises by
  int64_t rows = 0;               // the number of rows to which tiles are stored
};

// What each tile adds to its group's counter. It is 0 where A arrives, because counters count
// arrived rows there.
uint32_t signals_of(const tilepost_plan_t& plan);

// Rank 0's schedule in a run with m rows. It is not for routed plans.
Schedule planned_schedule(const tilepost_plan_t& plan, int64_t m);

// The tiles of the schedule `other` in a random order. Each tile is moved to a random place of its
// columns that no other tile has. Padding lies in between, and groups are not consecutive. CTAs of
// a cluster stay together. Tiles that are not whole come last, so that the output ends where they
// end.
Schedule random_schedule(const tilepost_plan_t& plan, int64_t m, const Schedule& other,
                         uint64_t seed);

// The rows and columns of a tile that exist. The last tiles of an output may not be whole.
struct TileExtent {
  int64_t rows, columns;
};
TileExtent extent_of(const tilepost_plan_t& plan, const tilepost_tile_t& tile, int64_t m);

// The number of rows behind a tile's extent to which a kernel may store. A kernel with marks that
// stores with TMA stores boxes of whole tiles.
int64_t spare_rows(const tilepost_plan_t& plan, const tilepost_tile_t& tile,
                   const Schedule& schedule, int64_t m);

}  // namespace tilepost::verify
