#include "generator/plan/verify/verify_parts.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilepost {
namespace {

using llvm::formatv;

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
    if (stored != all) findings_.add(formatv("{0} of {1} tiles are stored", stored, all));
    for (size_t i = 0; i < seen_.size() && !findings_.full(); ++i)
      if (!seen_[i] && map_.positions[i] != -1)
        findings_.add(formatv("no tile is at entry {0} of the inverse, which says {1}", i,
                              map_.positions[i]));
  }

  // Cluster-mates run at the same time and share B and the group's counter.
  void clusters() {
    const size_t cluster = static_cast<size_t>(plan_.map.cluster);
    const std::vector<tilepost_tile_t>& tiles = map_.tiles;
    if (tiles.size() % cluster != 0)
      findings_.add(formatv("{0} positions are no whole clusters of {1}", tiles.size(), cluster));
    for (size_t t = 0; t < tiles.size() && !findings_.full(); ++t) {
      if (t % cluster == 0) continue;
      if (tiles[t].n != tiles[t - 1].n || tiles[t].group != tiles[t - 1].group)
        findings_.add(
            formatv("positions {0} and {1} are cluster-mates but have columns {2} and {3}, groups "
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
        findings_.add(formatv(
            "group {0} covers positions {1} to {2}, expected to start at {3} and end "
            "by {4}",
            g, group.first_tile, int64_t{group.first_tile} + group.num_tiles, end, schedule));
        return false;
      }
      end += group.num_tiles;
      counter(g);
    }
    if (end != schedule) findings_.add(formatv("groups end at position {0} of {1}", end, schedule));
    return end == schedule;
  }

 private:
  bool arrivals() const { return plan_.map.division == TILEPOST_DIVISION_ARRIVALS; }
  // A rank's own rows may be part of tiles only that wait for others.
  int least_tiles() const { return arrivals() ? 0 : 1; }

  // Which entry of the inverse the stored tile at position t has, -1 if it is none.
  int64_t index_of(size_t t) {
    const tilepost_tile_t& tile = map_.tiles[t];
    const bool inside = tile.m >= 0 && tile.m < geometry_.m && tile.n >= 0 && tile.n < geometry_.n;
    if (inside != (tile.row >= 0)) {
      const char* what =
          inside ? "tile ({1}, {2}) is not stored" : "padding tile ({1}, {2}) is stored at row {3}";
      findings_.add(
          formatv((std::string("position {0}: ") + what).c_str(), t, tile.m, tile.n, tile.row));
      return -1;
    }
    if (!inside) return -1;
    const int64_t row = geometry_.tile_row(tile.m);
    if (row < 0 || tile.n % geometry_.tile_n != 0) {
      findings_.add(formatv("position {0}: no tile starts at ({1}, {2})", t, tile.m, tile.n));
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
      findings_.add(formatv("position {0}: tile ({1}, {2}) comes twice", t, tile.m, tile.n));
    if (map_.positions[index] != static_cast<int32_t>(t))
      findings_.add(formatv("tile ({0}, {1}) is at position {2}, the inverse says {3}", tile.m,
                            tile.n, t, map_.positions[index]));
    return first;
  }

  // Every tile has its own group's counter, which counts up to what it raises, or waits for the one
  // that is raised when its input has arrived.
  void counter(size_t g) {
    const tilepost_group_t& group = map_.groups[g];
    for (int64_t i = 0; i < group.num_tiles && !findings_.full(); ++i) {
      const int64_t t = group.first_tile + i;
      if (map_.tiles[t].group != static_cast<int32_t>(g))
        findings_.add(formatv("position {0} of group {1} {2} the counter of group {3}", t, g,
                              arrivals() ? "waits for" : "raises", map_.tiles[t].group));
    }
    const int64_t raised = arrivals() ? 1 : int64_t{group.num_tiles} * plan_.map.signals_per_tile;
    if (group.target != raised)
      findings_.add(formatv("group {0} waits for {1}, its {2} the counter {3} times", g,
                            group.target, arrivals() ? "arrival raises" : "tiles raise", raised));
  }

  const Plan& plan_;
  const TileMap& map_;
  const Geometry geometry_;
  Findings& findings_;
  std::vector<bool> seen_;
};

}  // namespace

Geometry::Geometry(const Plan& plan)
    : m(plan.map.m),
      n(plan.map.n),
      tile_m(plan.map.tile_m),
      tile_n(plan.map.tile_n),
      tiles_n(ceil_div(n, tile_n)),
      shares(has_shares(plan.pattern, plan.access) ? plan.ranks : 1),
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
    findings.add(formatv("{0} tiles have an entry in the inverse, the output has {1}",
                         map.positions.size(), entries));
    return false;
  }
  if (map.groups.empty() || map.groups.size() != plan.cuts().size()) {
    findings.add(formatv("{0} groups, {1} cuts", map.groups.size(), plan.cuts().size()));
    return false;
  }
  TileCheck check(plan, map, findings);
  check.bijection();
  check.clusters();
  return check.groups();
}

}  // namespace tilepost
