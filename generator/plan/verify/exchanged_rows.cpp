// Checks rows of A that kernels exchange (TILEPOST_ACCESS_TILES). Every rank's rows are cut into
// parts. One of the rank's CTAs stores each part with all ranks, and behind it a flag of its own. A
// tile waits for the parts that have rows of it, unless all of its rows are this rank's own. Scales
// of blocks travel with the parts. The kernels' own code cuts the rows
// (tilepost/internal/row_parts.h); here the parts are compared with single rows and blocks.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "generator/plan/verify/traffic.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/slots.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/exchange_places.h"
#include "tilepost/internal/row_parts.h"

namespace tilepost {
namespace {

constexpr int kUnitBytes = 16;  // of a unit, where a row is a whole number of these

class RowCheck {
 public:
  RowCheck(const Plan& plan, Findings& findings)
      : plan_(plan),
        findings_(findings),
        geometry_(plan),
        parts_{plan.ranks, static_cast<int>(plan.map.m), units_of_row(plan),
               units_of_part(plan, plan.map.m)} {}

  // Checks that the units of a row make up the whole row.
  bool units() {
    const int64_t bytes = plan_.k * element_bytes(plan_.input);
    const int64_t unit = bytes % kUnitBytes == 0 ? kUnitBytes : element_bytes(plan_.input);
    if (parts_.part_units > 0 && parts_.row_units * unit == bytes) return true;
    findings_.add(
        fmt::format("rows of A are {0} bytes, and travel as {1} units of {2} in parts of {3}",
                    bytes, parts_.row_units, unit, parts_.part_units));
    return false;
  }

  // Checks that the parts of each rank make up its rows, one behind the other, and that each part
  // has a flag.
  void stored() {
    int64_t row = 0;
    for (int source = 0; source < plan_.ranks; ++source) {
      const int64_t rows = geometry_.rows_of(source);
      const int units = parts_.units(source), count = parts_.parts_of(units);
      int end = 0;
      for (int part = 0; part < count; ++part) {
        if (part * parts_.part_units != end || parts_.end_of(part, units) <= end)
          return findings_.add(
              fmt::format("part {0} of rank {1} does not follow unit {2}", part, source, end));
        end = parts_.end_of(part, units);
      }
      if (parts_.first_row(source) != row || end != rows * parts_.row_units)
        findings_.add(
            fmt::format("rank {0} stores {1} units from row {2} on, it has {3} rows from "
                        "row {4} on",
                        source, end, parts_.first_row(source), rows, row));
      if (count > exchanged_parts(plan_))
        findings_.add(fmt::format("{0} parts of rank {1} have {2} flags", count, source,
                                  exchanged_parts(plan_)));
      row += rows;
    }
  }

  // Checks that every scale of each rank's rows travels once, in order, with a part that has units
  // of its block. Whoever waits for a row waits for all parts with units of it.
  void scaled() {
    const int64_t row = moved_scales(plan_).row, block = TILEPOST_SCALE_BLOCK;
    if (row == 0) return;
    const PartScales scales = woven::part_scales(parts_, static_cast<int>(plan_.k));
    for (int source = 0; source < plan_.ranks; ++source) {
      const int units = parts_.units(source);
      int64_t end = 0;
      for (int part = 0; part < parts_.parts_of(units); ++part) {
        const SomeScales some = scales.with_part(part, units);
        const bool follows = some.first == end;
        end = some.end;
        bool in_part = true;
        for (int64_t i = some.first; i < some.end; ++i) {
          const int64_t element = i / row * plan_.k + i % row * block;
          const int64_t unit = element * parts_.row_units / plan_.k;
          in_part &= unit >= part * parts_.part_units && unit < parts_.end_of(part, units);
        }
        if (!follows || !in_part)
          return findings_.add(fmt::format("part {0} of rank {1} brings scales {2} to {3}", part,
                                           source, some.first, some.end));
      }
      if (end != geometry_.rows_of(source) * row)
        findings_.add(fmt::format("rank {0} stores {1} scales of {2} rows", source, end,
                                  geometry_.rows_of(source)));
    }
  }

  // Checks that tiles that wait for nothing have own rows alone, which the kernel reads elsewhere,
  // and that the others wait for every part of every row.
  void awaited(int rank, const TileMap& map) {
    std::set<int32_t> seen;
    for (const tilepost_tile_t& tile : map.tiles) {
      if (findings_.full()) return;
      if (tile.row < 0) {  // a host kernel passes padding by
        if (plan_.arch == Arch::host) continue;
        findings_.add(fmt::format("rank {0}: padding in a schedule that waits for rows", rank));
        continue;
      }
      const int64_t end = std::min<int64_t>(tile.m + plan_.map.tile_m, plan_.map.m);
      const int64_t own = std::min(rank * geometry_.share, geometry_.m);
      const bool is_own = tile.m >= own && end <= own + geometry_.rows_of(rank);
      if ((tile.group == 0) != is_own)
        findings_.add(
            fmt::format("rank {0}: the tile of rows {1} to {2} waits for group {3}, own rows are "
                        "{4} to {5}",
                        rank, tile.m, end, tile.group, own, own + geometry_.rows_of(rank)));
      if (seen.insert(tile.m).second) waits_for(tile.m, end);
    }
  }

 private:
  void waits_for(int64_t first, int64_t end) {
    std::set<std::pair<int64_t, int64_t>> needed, asked;  // source, part
    for (int64_t row = first; row < end; ++row) {
      const int64_t source = row / geometry_.share, within = row % geometry_.share;
      const int64_t last = (within + 1) * parts_.row_units - 1;
      for (int64_t part = within * parts_.row_units / parts_.part_units;
           part <= last / parts_.part_units; ++part)
        needed.insert({source, part});
    }
    for (int source = 0; source < plan_.ranks; ++source) {
      const SomeParts parts =
          parts_.with_rows(source, static_cast<int>(first), static_cast<int>(end));
      for (int part = parts.first; part < parts.first + parts.count; ++part)
        asked.insert({source, part});
    }
    if (asked != needed)
      findings_.add(
          fmt::format("a tile of rows {0} to {1} waits for {2} parts, its rows are in {3}", first,
                      end, asked.size(), needed.size()));
  }

  const Plan& plan_;
  Findings& findings_;
  const Geometry geometry_;
  const RowParts parts_;
};

}  // namespace

void follow_rows(const Plan& plan, Findings& findings) {
  RowCheck check(plan, findings);
  if (!check.units()) return;
  check.stored();
  check.scaled();
  for (const int rank : ranks_to_check(plan)) {
    if (!findings.empty()) return;
    if (rank == 0) {
      check.awaited(rank, plan.tile_map());
      continue;
    }
    const TileMap map = build_tile_map(plan.map, {.rank = rank, .splits = {}});
    if (verify_tiles(plan, map, findings)) check.awaited(rank, map);
  }
}

}  // namespace tilepost
