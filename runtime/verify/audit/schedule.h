// Schedules that the audit runs a woven kernel by: the plan's, and others that nobody planned.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilepost/plan.h"

namespace tilepost::verify {

struct Schedule {
  std::string name;  // "the plan's", "random, seed 7"
  std::vector<tilepost_tile_t> tiles;
  std::vector<uint32_t> targets;  // by group: what its counter rises by
  int64_t rows = 0;               // that tiles are stored to
};

// What each tile adds to its group's counter. Where A arrives, counters say what of it has.
uint32_t signals_of(const tilepost_plan_t& plan);

// Rank 0's in a run with m rows. Not for routed plans.
Schedule planned_schedule(const tilepost_plan_t& plan, int64_t m);

// The tiles of another one in a random order, each moved to a random place of its columns that no
// other has, with padding in between and groups that are no ranges. CTAs of a cluster stay
// together. Tiles that are not whole come last, where what is stored beyond them ends.
Schedule random_schedule(const tilepost_plan_t& plan, int64_t m, const Schedule& other,
                         uint64_t seed);

// The rows and columns of a tile that are there: the last ones of an output are not whole.
struct TileExtent {
  int64_t rows, columns;
};
TileExtent extent_of(const tilepost_plan_t& plan, const tilepost_tile_t& tile, int64_t m);

// Rows behind them that a kernel may store to: one with marks stores boxes of whole tiles, if it
// does so with TMA.
int64_t spare_rows(const tilepost_plan_t& plan, const tilepost_tile_t& tile,
                   const Schedule& schedule, int64_t m);

}  // namespace tilepost::verify
