#include <numeric>

#include "generator/plan/verify/verify_parts.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilepost {
namespace {

using llvm::formatv;

// Destination rows [row, end) of one tile, in column `n`.
struct Strip {
  int32_t n;
  int64_t row, end;
  bool operator<(const Strip& other) const { return n != other.n ? n < other.n : row < other.row; }
};

class BlockCheck {
 public:
  BlockCheck(const Plan& plan, const TileMap& map, Findings& findings)
      : map_(map), geometry_(plan), findings_(findings) {}

  // TILEPOST_DIVISION_ROWS, panel: rows keep their place. A tile writes a rectangle of a row-major
  // matrix. Tile columns partition the columns, so the group's elements are a block of whole rows
  // exactly if in every tile column the rectangles' rows follow each other from the block's first
  // row to its last.
  void band(size_t g) {
    const tilepost_group_t& group = map_.groups[g];
    if (!whole_rows(g, geometry_.n)) return;
    const int64_t first_row = group.offset / geometry_.n;
    const int64_t end_row = first_row + group.count / geometry_.n;
    strips_.clear();
    for_tiles(g, [&](size_t t, const tilepost_tile_t& tile) {
      stays_in_place(t, tile);
      // Rows beyond the output are clipped where they are computed, not where they are stored.
      const int64_t height = std::min<int64_t>(geometry_.tile_m, geometry_.m - tile.m);
      strips_.push_back({tile.n, tile.row, tile.row + height});
    });
    std::sort(strips_.begin(), strips_.end());
    size_t next = 0;
    for (int64_t n = 0; n < geometry_.n; n += geometry_.tile_n) {
      int64_t row = first_row;
      for (; next < strips_.size() && strips_[next].n == n; ++next) {
        if (strips_[next].row != row) return misplaced(g, n, strips_[next].row, row);
        row = strips_[next].end;
      }
      if (row != end_row)
        return findings_.add(
            formatv("group {0}, column {1}: tiles end at row {2}, the block at "
                    "row {3}",
                    g, n, row, end_row));
    }
  }

  // TILEPOST_DIVISION_ROWS, tile layout: a tile writes one whole slot of tile_m * tile_n elements.
  void slots(size_t g) {
    const tilepost_group_t& group = map_.groups[g];
    std::vector<int64_t> slots;
    for_tiles(g, [&](size_t, const tilepost_tile_t& tile) {
      slots.push_back(int64_t{tile.row} * geometry_.tile_n);
    });
    std::sort(slots.begin(), slots.end());
    int64_t element = group.offset;
    for (const int64_t slot : slots) {
      if (slot != element)
        return findings_.add(
            formatv("group {0}: a slot starts at element {1}, expected {2}", g, slot, element));
      element += int64_t{geometry_.tile_m} * geometry_.tile_n;
    }
    if (element != group.offset + group.count)
      findings_.add(formatv("group {0}: slots end at element {1}, the block at {2}", g, element,
                            group.offset + group.count));
  }

  // TILEPOST_DIVISION_SHARES: the block is an equal part of every share, one after the other, and
  // every group continues in each share where the one before ended. Together with the bijection
  // nothing else is needed: a tile's place tells which one it must be.
  void parts(size_t g) {
    const tilepost_group_t& group = map_.groups[g];
    if (!whole_rows(g, geometry_.n * geometry_.shares * geometry_.tile_m)) return;
    const int64_t part = group.count / geometry_.n / geometry_.shares;
    const int64_t first_row = group.offset / geometry_.n;
    const int64_t before = first_row / geometry_.shares;  // rows of each share in earlier groups
    for_tiles(g, [&](size_t, const tilepost_tile_t& tile) {
      const int64_t within = tile.m % geometry_.share - before;
      const int64_t row = first_row + tile.m / geometry_.share * part + within;
      if (within < 0 || within >= part || tile.row != row) misplaced(g, tile.n, tile.row, row);
    });
  }

  // TILEPOST_DIVISION_COLUMNS: the block is whole slabs, one for each tile column, in which rows
  // keep their order.
  void slabs(size_t g) {
    const tilepost_group_t& group = map_.groups[g];
    const int64_t slab = map_.send_elements / geometry_.tiles_n;  // elements
    if (slab % geometry_.tile_n != 0 || slab * geometry_.tiles_n != map_.send_elements ||
        slab / geometry_.tile_n < geometry_.shares * geometry_.share)
      return findings_.add(formatv("group {0}: slabs of {1} elements have no room for {2} shares",
                                   g, slab, geometry_.shares));
    if (!whole_rows(g, slab)) return;
    for_tiles(g, [&](size_t, const tilepost_tile_t& tile) {
      const int64_t column = tile.n / geometry_.tile_n;
      const int64_t row = column * (slab / geometry_.tile_n) + tile.m;
      if (column * slab < group.offset || (column + 1) * slab > group.offset + group.count ||
          tile.m + geometry_.tile_m > slab / geometry_.tile_n || tile.row != row)
        misplaced(g, tile.n, tile.row, row);
    });
  }

  // TILEPOST_DIVISION_ARRIVALS: the output is written in place and no block is sent.
  void no_block(size_t g) {
    const tilepost_group_t& group = map_.groups[g];
    if (group.offset != 0 || group.count != 0)
      findings_.add(formatv("group {0} sends a block, offset {1}, count {2}, after its GEMM", g,
                            group.offset, group.count));
    for_tiles(g, [&](size_t t, const tilepost_tile_t& tile) { stays_in_place(t, tile); });
  }

 private:
  template <class Visit>
  void for_tiles(size_t g, Visit visit) {
    const tilepost_group_t& group = map_.groups[g];
    for (int32_t i = 0; i < group.num_tiles && !findings_.full(); ++i) {
      const size_t t = static_cast<size_t>(group.first_tile) + i;
      if (map_.tiles[t].row >= 0) visit(t, map_.tiles[t]);
    }
  }

  bool whole_rows(size_t g, int64_t elements) {
    const tilepost_group_t& group = map_.groups[g];
    if (group.offset % elements == 0 && group.count % elements == 0) return true;
    findings_.add(
        formatv("group {0} is not a block of whole rows: offset {1}, count {2}, rows of "
                "{3}",
                g, group.offset, group.count, elements));
    return false;
  }

  void stays_in_place(size_t t, const tilepost_tile_t& tile) {
    if (tile.row != tile.m)
      findings_.add(formatv("position {0}: row {1} goes to row {2} of a row-major output", t,
                            tile.m, tile.row));
  }

  void misplaced(size_t g, int64_t n, int64_t row, int64_t expected) {
    findings_.add(formatv("group {0}, column {1}: a tile starts at row {2}, expected {3}", g, n,
                          row, expected));
  }

  const TileMap& map_;
  const Geometry geometry_;
  Findings& findings_;
  std::vector<Strip> strips_;
};

void check_block(const Plan& plan, size_t g, BlockCheck& check) {
  switch (plan.map.division) {
    case TILEPOST_DIVISION_ROWS:
      return plan.map.layout == TILEPOST_PANEL ? check.band(g) : check.slots(g);
    case TILEPOST_DIVISION_SHARES:
      return check.parts(g);
    case TILEPOST_DIVISION_COLUMNS:
      return check.slabs(g);
    case TILEPOST_DIVISION_ARRIVALS:
      return check.no_block(g);
  }
}

}  // namespace

void verify_blocks(const Plan& plan, const TileMap& map, Findings& findings) {
  const bool sent = plan.map.division != TILEPOST_DIVISION_ARRIVALS;
  BlockCheck check(plan, map, findings);
  int64_t end = 0;
  for (size_t g = 0; g < map.groups.size() && !findings.full(); ++g) {
    const tilepost_group_t& group = map.groups[g];
    if (sent && group.count <= 0) findings.add(formatv("group {0} sends nothing", g));
    if (sent && group.offset != end)
      findings.add(formatv("group {0} starts at element {1}, the one before ends at {2}", g,
                           group.offset, end));
    end = group.offset + group.count;
    check_block(plan, g, check);
  }
  if (!sent) end = plan.map.m * plan.map.n;
  if (end != map.send_elements)
    findings.add(
        formatv("groups end at element {0}, the send buffer at {1}", end, map.send_elements));
}

std::vector<int> ranks_to_check(const Plan& plan) {
  constexpr int64_t kMostTiles = int64_t{1} << 20;
  const int ranks = plan.ranks;
  std::vector<int> chosen = {0, ranks / 2, ranks - 1};
  if (static_cast<int64_t>(plan.tile_map().tiles.size()) * ranks <= kMostTiles) {
    chosen.resize(ranks);
    std::iota(chosen.begin(), chosen.end(), 0);
  }
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

void verify_orders(const Plan& plan, Findings& findings) {
  if (plan.map.stagger == 0 || !findings.empty()) return;
  const auto alike = [](const tilepost_group_t& x, const tilepost_group_t& y) {
    return x.first_tile == y.first_tile && x.num_tiles == y.num_tiles && x.target == y.target &&
           x.offset == y.offset && x.count == y.count;
  };
  for (const int rank : ranks_to_check(plan)) {
    if (rank == 0) continue;  // the plan's own
    const TileMap map = build_tile_map(plan.map, {.rank = rank, .splits = {}});
    if (verify_tiles(plan, map, findings)) verify_blocks(plan, map, findings);
    if (!std::ranges::equal(map.groups, plan.tile_map().groups, alike))
      findings.add(formatv("the groups of rank {0} are not those of rank 0", rank));
    if (!findings.empty()) return;
  }
}

}  // namespace tilepost
