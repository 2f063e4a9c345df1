#include "runtime/map/slots.h"

#include <algorithm>

#include "runtime/map/cut_points.h"
#include "runtime/map/patterns.h"
#include "runtime/map/run_path.h"
#include "runtime/map/sum_parts.h"
#include "runtime/map/tile_map.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/exchange_shares.h"

namespace tilepost {
namespace {

// The number of units (units_of_row) in the largest share of a run of m rows of A.
int64_t units_of_share(const tilepost_plan_t& plan, int64_t m) {
  return (m + plan.ranks - 1) / plan.ranks * units_of_row(plan);
}

// The number of parts in the largest share of a run of m rows of A.
int64_t parts_of_share(const tilepost_plan_t& plan, int64_t m) {
  const int64_t units = units_of_share(plan, m), part = units_of_part(plan, m);
  return (units + part - 1) / part;
}

constexpr int kHelperThreads = 128;  // the threads of a CTA's helper warps
constexpr int kUnitsOfThread = 4;
constexpr int kPartsAtOnce = 112;  // fewer parts than a GPU has CTAs

}  // namespace

int64_t stored_pitch(const tilepost_plan_t& plan) {
  return plan.map.n + plan.row_gap;
}

Slots slots_of(const tilepost_plan_t& plan, const tilepost_map_t& map) {
  constexpr int kLine = 8;   // elements
  constexpr int kFirst = 0;  // a rank that no other exceeds in rows
  if (plan.shots == TILEPOST_ONE_SHOT_LINES)
    return {exchanged_parts(plan) * lines_of_part(plan) * kLine, 2 * plan.ranks};
  if (plan.access == TILEPOST_ACCESS_TILES)
    return {exchanged_rows(plan, map, kFirst) * map.n, 2 * plan.ranks};
  const bool added = plan.access == TILEPOST_ACCESS_WRITE && plan.sum == TILEPOST_SUM_ADDED;
  return {int64_t{share_tiles(map)} * map.tile_m * stored_pitch(plan), added ? 1 : plan.ranks};
}

int exchanged_parts(const tilepost_plan_t& plan) {
  if (plan.fused != 0) {  // the finished tiles have one more part together, where they cross ranks
    const int tiles = row_of(plan).sums ? share_tiles(plan.map) * tiles_n(plan.map) : 0;
    return tiles * plan.map.signals_per_tile + plan.pushes;
  }
  if (path_of(plan, true).sums_at_home) return most_sum_parts(plan);
  if (plan.access != TILEPOST_ACCESS_TILES) return 0;
  if (row_of(plan).moves_input())  // a run with fewer rows may have smaller parts, and so more of
                                   // them
    return static_cast<int>(std::max<int64_t>(kPartsAtOnce, parts_of_share(plan, plan.map.m)));
  return static_cast<int>(schedule_positions(plan.map)) * plan.map.signals_per_tile;
}

int64_t lines_of_part(const tilepost_plan_t& plan) {
  constexpr int kUnit = 8;  // rows; each CTA has a multiple of this
  const int units = (plan.map.tile_m + kUnit - 1) / kUnit, ctas = plan.map.signals_per_tile;
  const int64_t rows = int64_t{(units + ctas - 1) / ctas} * kUnit;
  if (row_of(plan).product_leaves())
    return most_exchange_lines(std::min(rows, share_rows(plan.map)), plan.map.tile_n);
  return exchange_lines({0, static_cast<int>(rows)}, plan.map.tile_n).end;
}

int32_t units_of_row(const tilepost_plan_t& plan) {
  constexpr int kUnitBytes = 16;
  const int64_t bytes = plan.k * element_bytes(plan.input);
  return static_cast<int32_t>(bytes % kUnitBytes == 0 ? bytes / kUnitBytes : plan.k);
}

int32_t units_of_part(const tilepost_plan_t& plan, int64_t m) {
  int32_t units = kHelperThreads;
  while (units < kUnitsOfThread * kHelperThreads && units * kPartsAtOnce < units_of_share(plan, m))
    units *= 2;
  return units;
}

int64_t exchanged_rows(const tilepost_plan_t& plan, const tilepost_map_t& map, int rank) {
  const int64_t box = plan.kernel.box_c.rows, boxes = (map.m + box - 1) / box;
  if (row_of(plan).product_leaves()) return box + rows_of_rank(map, rank);
  if (plan.shots != TILEPOST_TWO_SHOT) return map.m;
  return (boxes + plan.ranks - 1) / plan.ranks * box;
}

int64_t landed_row(const tilepost_map_t& map, int source, int owner) {
  return source * rows_of_rank(map, owner);
}

RowsOfOut rows_in_out(const tilepost_plan_t& plan, const tilepost_map_t& map, int source,
                      int owner) {
  const PatternRow& row = row_of(plan);
  if (row.product_spreads()) return {first_row_of_rank(map, source), rows_of_rank(map, source)};
  if (row.sums) return {0, source == owner ? rows_of_rank(map, owner) : 0};
  return {landed_row(map, source, owner), rows_of_rank(map, owner)};
}

int64_t most_rows_of_out(const tilepost_plan_t& plan, const tilepost_map_t& map) {
  constexpr int kFirst = 0;  // a rank that no other exceeds in rows
  const RowsOfOut last = rows_in_out(plan, map, plan.ranks - 1, kFirst);
  return row_of(plan).product_spreads() ? map.m : last.first + last.count;
}

OwnerPlace place_at_owner(const tilepost_plan_t& plan, const Slots& slots,
                          const tilepost_map_t& map, int source, int owner) {
  if (row_of(plan).sums) return {true, slots.at(source, 0)};
  return {false, landed_row(map, source, owner) * stored_pitch(plan)};
}

}  // namespace tilepost
