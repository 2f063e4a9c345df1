// Schedules with which the audit runs a woven kernel: the plan's, and others that nobody planned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost::verify {

struct Schedule {
  std::string name;  // "the plan's", "random, seed 7"
  std::vector<tilepost_tile_t> tiles;
  std::vector<uint32_t> targets;  // by group: what the group's counter rises by
  int64_t rows = 0;               // rows that tiles are stored to
};

// What each tile adds to its group's counter. It is 0 where A arrives: there the counters say which
// rows have arrived.
uint32_t signals_of(const tilepost_plan_t& plan);

// Rank 0's schedule in a run with m rows. Not for routed plans.
Schedule planned_schedule(const tilepost_plan_t& plan, int64_t m);

// The tiles of the schedule `other` in a random order. Each is moved to a random place of its
// columns that no other tile has. Padding lies in between, and groups are not consecutive. CTAs of
// a cluster stay together. Tiles that are not whole come last, so that the output ends where they
// do.
Schedule random_schedule(const tilepost_plan_t& plan, int64_t m, const Schedule& other,
                         uint64_t seed);

// The rows and columns of a tile that exist: the last tiles of an output are not whole.
struct TileExtent {
  int64_t rows, columns;
};
TileExtent extent_of(const tilepost_plan_t& plan, const tilepost_tile_t& tile, int64_t m);

// The rows behind a tile's extent that a kernel may store to. A kernel with marks stores boxes of
// whole tiles if it stores with TMA.
int64_t spare_rows(const tilepost_plan_t& plan, const tilepost_tile_t& tile,
                   const Schedule& schedule, int64_t m);

}  // namespace tilepost::verify
