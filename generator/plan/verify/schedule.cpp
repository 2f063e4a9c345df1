// Checks the tile tables of rank 0 and of ranks with an order of their own: the tiles, the groups
// and their blocks.
#include <fmt/format.h>

#include <numeric>

#include "generator/plan/verify/parts.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

class TileCheck {
 public:
  TileCheck(const Plan& plan, const TileMap& map, Findings& findings)
      : plan_(plan), map_(map), geometry_(plan), findings_(findings) {}

  void bijection() {
    seen_.assign(map_.positions.size(), false);
    int64_t stored = 0;
    for (size_t t = 0; t < map_.tiles.size() && !findings_.full(); ++t)
      if (const int64_t index = index_of(t); index >= 0) stored += place(t, index);
    const int64_t all = geometry_.stored_tile_rows() * geometry_.tiles_n;
    if (stored != all) findings_.add(fmt::format("{0} of {1} tiles are stored", stored, all));
    for (size_t i = 0; i < seen_.size() && !findings_.full(); ++i)
      if (!seen_[i] && map_.positions[i] != -1)
        findings_.add(fmt::format("no tile is at entry {0} of the inverse, which says {1}", i,
                                  map_.positions[i]));
  }

  // Cluster-mates run at the same time and share B and the group's counter.
  void clusters() {
    const size_t cluster = static_cast<size_t>(plan_.map.cluster);
    const std::vector<tilepost_tile_t>& tiles = map_.tiles;
    if (tiles.size() % cluster != 0)
      findings_.add(
          fmt::format("{0} positions are no whole clusters of {1}", tiles.size(), cluster));
    for (size_t t = 0; t < tiles.size() && !findings_.full(); ++t) {
      if (t % cluster == 0) continue;
      if (tiles[t].n != tiles[t - 1].n || tiles[t].group != tiles[t - 1].group)
        findings_.add(fmt::format(
            "positions {0} and {1} are cluster-mates but have columns {2} and {3}, groups "
            "{4} and {5}",
            t - 1, t, tiles[t - 1].n, tiles[t].n, tiles[t - 1].group, tiles[t].group));
    }
  }

  bool groups() {
    const auto schedule = static_cast<int64_t>(map_.tiles.size());
    int64_t end = 0;
    for (size_t g = 0; g < map_.groups.size(); ++g) {
      const tilepost_group_t& group = map_.groups[g];
      if (group.first_tile != end || group.num_tiles < least_tiles() ||
          end + group.num_tiles > schedule) {
        findings_.add(fmt::format(
            "group {0} covers positions {1} to {2}, expected to start at {3} and end "
            "by {4}",
            g, group.first_tile, int64_t{group.first_tile} + group.num_tiles, end, schedule));
        return false;
      }
      end += group.num_tiles;
      counter(g);
    }
    if (end != schedule)
      findings_.add(fmt::format("groups end at position {0} of {1}", end, schedule));
    return end == schedule;
  }

 private:
  bool arrivals() const { return plan_.map.division == TILEPOST_DIVISION_ARRIVALS; }
  // The group of a rank's own rows may have no tiles: these rows may only be part of tiles that
  // wait for other ranks' rows.
  int least_tiles() const { return arrivals() ? 0 : 1; }

  // The entry of TileMap::positions that belongs to the stored tile at position t; -1 if there is
  // none.
  int64_t index_of(size_t t) {
    const tilepost_tile_t& tile = map_.tiles[t];
    const bool inside = tile.m >= 0 && tile.m < geometry_.m && tile.n >= 0 && tile.n < geometry_.n;
    if (inside != (tile.row >= 0)) {
      const char* what =
          inside ? "tile ({1}, {2}) is not stored" : "padding tile ({1}, {2}) is stored at row {3}";
      findings_.add(fmt::format(fmt::runtime(std::string("position {0}: ") + what), t, tile.m,
                                tile.n, tile.row));
      return -1;
    }
    if (!inside) return -1;
    const int64_t row = geometry_.tile_row(tile.m);
    if (row < 0 || tile.n % geometry_.tile_n != 0) {
      findings_.add(fmt::format("position {0}: no tile starts at ({1}, {2})", t, tile.m, tile.n));
      return -1;
    }
    return row * geometry_.tiles_n + tile.n / geometry_.tile_n;
  }

  // Whether the tile is there for the first time.
  bool place(size_t t, int64_t index) {
    const tilepost_tile_t& tile = map_.tiles[t];
    const bool first = !seen_[index];
    seen_[index] = true;
    if (!first)
      findings_.add(fmt::format("position {0}: tile ({1}, {2}) comes twice", t, tile.m, tile.n));
    if (map_.positions[index] != static_cast<int32_t>(t))
      findings_.add(fmt::format("tile ({0}, {1}) is at position {2}, the inverse says {3}", tile.m,
                                tile.n, t, map_.positions[index]));
    return first;
  }

  // Every tile has the counter of its own group. The tiles of a group raise it to the group's
  // target. With arrivals tiles wait for the counter instead, which is raised when their input has
  // arrived.
  void counter(size_t g) {
    const tilepost_group_t& group = map_.groups[g];
    for (int64_t i = 0; i < group.num_tiles && !findings_.full(); ++i) {
      const int64_t t = group.first_tile + i;
      if (map_.tiles[t].group != static_cast<int32_t>(g))
        findings_.add(fmt::format("position {0} of group {1} {2} the counter of group {3}", t, g,
                                  arrivals() ? "waits for" : "raises", map_.tiles[t].group));
    }
    const int64_t raised = arrivals() ? 1 : int64_t{group.num_tiles} * plan_.map.signals_per_tile;
    if (group.target != raised)
      findings_.add(fmt::format("group {0} waits for {1}, its {2} the counter {3} times", g,
                                group.target, arrivals() ? "arrival raises" : "tiles raise",
                                raised));
  }

  const Plan& plan_;
  const TileMap& map_;
  const Geometry geometry_;
  Findings& findings_;
  std::vector<bool> seen_;
};

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
            fmt::format("group {0}, column {1}: tiles end at row {2}, the block at "
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
            fmt::format("group {0}: a slot starts at element {1}, expected {2}", g, slot, element));
      element += int64_t{geometry_.tile_m} * geometry_.tile_n;
    }
    if (element != group.offset + group.count)
      findings_.add(fmt::format("group {0}: slots end at element {1}, the block at {2}", g, element,
                                group.offset + group.count));
  }

  // TILEPOST_DIVISION_SHARES: the block is an equal part of every share, one after the other, and
  // every group continues in each share where the group before ended. Together with the bijection
  // this is enough: a tile's place determines which tile it must be.
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
      return findings_.add(
          fmt::format("group {0}: slabs of {1} elements have no room for {2} shares", g, slab,
                      geometry_.shares));
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
      findings_.add(fmt::format("group {0} sends a block, offset {1}, count {2}, after its GEMM", g,
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
        fmt::format("group {0} is not a block of whole rows: offset {1}, count {2}, rows of "
                    "{3}",
                    g, group.offset, group.count, elements));
    return false;
  }

  void stays_in_place(size_t t, const tilepost_tile_t& tile) {
    if (tile.row != tile.m)
      findings_.add(fmt::format("position {0}: row {1} goes to row {2} of a row-major output", t,
                                tile.m, tile.row));
  }

  void misplaced(size_t g, int64_t n, int64_t row, int64_t expected) {
    findings_.add(fmt::format("group {0}, column {1}: a tile starts at row {2}, expected {3}", g, n,
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

Geometry::Geometry(const Plan& plan)
    : m(plan.map.m),
      n(plan.map.n),
      tile_m(plan.map.tile_m),
      tile_n(plan.map.tile_n),
      tiles_n(ceil_div(n, tile_n)),
      shares(row_of(plan).has_shares(plan.access) ? plan.ranks : 1),
      anew(plan.map.division == TILEPOST_DIVISION_SHARES) {
  share = ceil_div(m, shares);
  share_tiles = ceil_div(share, tile_m);
}

int64_t Geometry::tile_rows() const {
  return anew ? shares * share_tiles : ceil_div(m, tile_m);
}

int64_t Geometry::stored_tile_rows() const {
  if (!anew) return tile_rows();
  int64_t rows = 0;
  for (int rank = 0; rank < shares; ++rank) rows += ceil_div(rows_of(rank), tile_m);
  return rows;
}

int64_t Geometry::tile_row(int64_t first) const {
  if (!anew) return first % tile_m == 0 ? first / tile_m : -1;
  const int64_t within = first % share;
  return within % tile_m == 0 ? first / share * share_tiles + within / tile_m : -1;
}

bool verify_tiles(const Plan& plan, const TileMap& map, Findings& findings) {
  const Geometry geometry(plan);
  const auto entries = static_cast<size_t>(geometry.tile_rows() * geometry.tiles_n);
  if (map.positions.size() != entries) {
    findings.add(fmt::format("{0} tiles have an entry in the inverse, the output has {1}",
                             map.positions.size(), entries));
    return false;
  }
  if (map.groups.empty() || map.groups.size() != plan.cuts().size()) {
    findings.add(fmt::format("{0} groups, {1} cuts", map.groups.size(), plan.cuts().size()));
    return false;
  }
  TileCheck check(plan, map, findings);
  check.bijection();
  check.clusters();
  return check.groups();
}

void verify_blocks(const Plan& plan, const TileMap& map, Findings& findings) {
  const bool sent = plan.map.division != TILEPOST_DIVISION_ARRIVALS;
  BlockCheck check(plan, map, findings);
  int64_t end = 0;
  for (size_t g = 0; g < map.groups.size() && !findings.full(); ++g) {
    const tilepost_group_t& group = map.groups[g];
    if (sent && group.count <= 0) findings.add(fmt::format("group {0} sends nothing", g));
    if (sent && group.offset != end)
      findings.add(fmt::format("group {0} starts at element {1}, the one before ends at {2}", g,
                               group.offset, end));
    end = group.offset + group.count;
    check_block(plan, g, check);
  }
  if (!sent) end = plan.map.m * plan.map.n;
  if (end != map.send_elements)
    findings.add(
        fmt::format("groups end at element {0}, the send buffer at {1}", end, map.send_elements));
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
      findings.add(fmt::format("the groups of rank {0} are not those of rank 0", rank));
    if (!findings.empty()) return;
  }
}

}  // namespace tilepost
