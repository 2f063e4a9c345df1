// The order of tiles in which the shares of all ranks take turns, and its properties on all small
// shapes.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "runtime/map/tile_map.h"
#include "tests/catch.h"

namespace tilepost::test {
namespace {

constexpr int kTileM = 2, kTileN = 3;

struct Shape {
  int m, n, ranks, cluster, band, stagger;
  std::vector<int32_t> cuts;

  tilepost_map_t map() const {
    tilepost_map_t map = {};
    map.m = m, map.n = n;
    map.tile_m = kTileM, map.tile_n = kTileN;
    map.cluster = cluster, map.band = band;
    map.signals_per_tile = 1;
    map.layout = TILEPOST_PANEL;
    map.division = TILEPOST_DIVISION_SHARES;
    map.ranks = ranks;
    map.stagger = stagger;
    map.num_groups = static_cast<int32_t>(cuts.size());
    map.cuts = cuts.data();
    return map;
  }
  TileMap of(int rank) const { return build_tile_map(map(), {.rank = rank, .splits = {}}); }
  int owner(const tilepost_tile_t& tile) const {
    return static_cast<int>(tile.m / share_rows(map()));
  }
};

// The first rows of the tiles in column n, in order.
std::string rows(const TileMap& map, int n) {
  std::string text;
  for (const tilepost_tile_t& tile : map.tiles)
    if (tile.n == n) text += (tile.row < 0 ? "-" : std::to_string(tile.m)) + " ";
  return text;
}

// Calls `check` for every small shape. With `equal` it leaves out shapes whose shares are not
// equally long or not whole tiles.
void for_shapes(bool equal, const std::function<void(const Shape&)>& check) {
  for (const int ranks : {1, 2, 3, 4, 8})
    for (int rows = 1; rows <= 9; ++rows)
      for (const int ragged : {0, 1, 3})
        for (const int columns : {1, 3})
          for (const int cluster : {1, 2, 4})
            for (const int band : {1, 4, 8, 16})
              for (const int waves : {1, 3}) {
                const int m = ranks * rows * kTileM - ragged;
                if (m < 1 || (equal && (ragged != 0 || rows % cluster != 0))) continue;
                Shape shape{m, columns * kTileN, ranks, cluster, band, waves * cluster * 2, {}};
                const int tiles = share_tiles(shape.map());
                for (const int first : {tiles / 3 / cluster * cluster, tiles / 2})
                  if (first > (shape.cuts.empty() ? 0 : shape.cuts.back()) &&
                      (!equal || first % cluster == 0))
                    shape.cuts.push_back(first);
                if (shape.cuts.empty() || shape.cuts.back() != tiles) shape.cuts.push_back(tiles);
                check(shape);
              }
}

// The bands of a group. A band is the positions of some tile rows with all their columns.
struct Band {
  size_t first, height;
};
std::vector<Band> bands_of(const TileMap& map, int g, int columns) {
  std::vector<Band> bands;
  const tilepost_group_t& group = map.groups[g];
  const size_t end = group.first_tile + group.num_tiles;
  for (size_t first = group.first_tile; first < end;) {
    // With one column nothing shows where a band ends, so the band is the whole group.
    size_t height = 1;
    while (first + height < end && map.tiles[first + height].n == map.tiles[first].n) ++height;
    bands.push_back({first, height});
    first += height * columns;
  }
  return bands;
}

TEST_CASE("shares take turns from the next rank's on, and the own one is last") {
  // 3 shares of 4 tile rows in bands of at most 6.
  const Shape shape{24, 3, 3, 1, 6, 100, {4}};
  // The only group is also the last one. It has two bands of the other ranks' shares, and then the
  // own share.
  CHECK(rows(shape.of(0), 0) == "8 10 16 18 12 14 20 22 0 2 4 6 ");
  const Shape two{24, 3, 3, 1, 6, 100, {3, 4}};
  // The first group has three tile rows of each share in two bands.
  CHECK(rows(two.of(1), 0) == "16 0 8 18 20 2 4 10 12 22 6 14 ");
  CHECK(rows(two.of(2), 0) == "0 8 16 2 4 10 12 18 20 6 14 22 ");
}

TEST_CASE("columns begin a turn later when a wave is full") {
  // Bands of 4 tile rows, two of each share, and 3 columns. A wave of 6 positions is a column and a
  // half.
  const Shape shape{16, 9, 2, 1, 4, 4, {2, 4}};
  const TileMap map = shape.of(0);
  std::string owners;
  for (int t = 0; t < 12; ++t) owners += std::to_string(shape.owner(map.tiles[t]));
  CHECK(owners == "110000111100");
}

TEST_CASE("groups, tiles and their destinations are those of the plain order") {
  int maps = 0;
  for_shapes(false, [&](const Shape& shape) {
    Shape plain = shape;
    plain.stagger = 0;
    const TileMap expected = plain.of(0);
    using Key = std::tuple<int, int, int, int>;
    const auto sorted = [](const TileMap& map) {
      std::multiset<Key> tiles;
      for (const tilepost_tile_t& tile : map.tiles)
        tiles.insert({tile.m, tile.n, tile.row, tile.group});
      return tiles;
    };
    for (int rank = 0; rank < shape.ranks; ++rank) {
      ++maps;
      const TileMap map = shape.of(rank);
      REQUIRE(sorted(map) == sorted(expected));
      REQUIRE(map.send_elements == expected.send_elements);
      REQUIRE(map.groups.size() == expected.groups.size());
      for (size_t g = 0; g < map.groups.size(); ++g) {
        const tilepost_group_t &a = map.groups[g], &b = expected.groups[g];
        REQUIRE(std::tie(a.first_tile, a.num_tiles, a.target, a.offset, a.count) ==
                std::tie(b.first_tile, b.num_tiles, b.target, b.offset, b.count));
        for (int t = a.first_tile; t < a.first_tile + a.num_tiles; ++t)
          REQUIRE(map.tiles[t].group == static_cast<int>(g));
      }
      for (size_t t = 0; t < map.tiles.size(); ++t)
        if (t % shape.cluster != 0) REQUIRE(map.tiles[t].n == map.tiles[t - 1].n);
      for (size_t i = 0; i < map.positions.size(); ++i)
        if (map.positions[i] >= 0)
          REQUIRE(map.tiles[map.positions[i]].row == expected.tiles[expected.positions[i]].row);
    }
  });
  REQUIRE(maps > 5000);
}

TEST_CASE(
    "every band has an equal part of every share, and the own share is last in the last group") {
  int bands = 0, lasts = 0;
  for_shapes(true, [&](const Shape& shape) {
    const int groups = static_cast<int>(shape.cuts.size());
    const int columns = shape.n / kTileN;
    if (columns == 1) return;
    for (int rank = 0; rank < shape.ranks; ++rank) {
      const TileMap map = shape.of(rank);
      for (int g = 0; g + 1 < groups; ++g)
        for (const Band& band : bands_of(map, g, columns)) {
          ++bands;
          std::map<int, int> of_share;
          for (size_t t = band.first; t < band.first + band.height; ++t)
            ++of_share[shape.owner(map.tiles[t])];
          REQUIRE(static_cast<int>(of_share.size()) == shape.ranks);
          for (const auto& [share, count] : of_share)
            REQUIRE(count == static_cast<int>(band.height) / shape.ranks);
          REQUIRE(static_cast<int>(band.height) <=
                  std::max(shape.band, shape.ranks * shape.cluster));
        }
      bool own = false;
      const tilepost_group_t& last = map.groups.back();
      for (int t = last.first_tile; t < last.first_tile + last.num_tiles; ++t) {
        const bool mine = shape.owner(map.tiles[t]) == rank;
        REQUIRE((mine || !own));
        own |= mine;
        lasts += mine;
      }
      REQUIRE(own);
    }
  });
  REQUIRE(bands > 500);
  REQUIRE(lasts > 500);
}

TEST_CASE(
    "no two ranks compute for the same owner at the same time, and none for one all the time") {
  int positions = 0, turned = 0;
  for_shapes(true, [&](const Shape& shape) {
    if (shape.ranks == 1) return;
    std::vector<TileMap> maps;
    for (int rank = 0; rank < shape.ranks; ++rank) maps.push_back(shape.of(rank));
    const int end = maps[0].groups.back().first_tile;
    for (int t = 0; t < end; ++t, ++positions) {
      const int first = shape.owner(maps[0].tiles[t]);
      for (int rank = 1; rank < shape.ranks; ++rank)
        REQUIRE(shape.owner(maps[rank].tiles[t]) == (first + rank) % shape.ranks);
    }
    REQUIRE((end == 0 || shape.owner(maps[0].tiles[0]) == 1));
    // A CTA computes every stagger-th position. Where a band begins with a wave and a wave is a
    // number of its columns, two tiles that a CTA computes in a row have different owners.
    for (int g = 0; g + 1 < static_cast<int>(shape.cuts.size()); ++g)
      for (const Band& band : bands_of(maps[0], g, shape.n / kTileN)) {
        const size_t stagger = shape.stagger;
        if (stagger % band.height != 0 || band.first % stagger != 0 || shape.n == kTileN) continue;
        for (size_t t = band.first; t + stagger < band.first + band.height * shape.n / kTileN;
             ++t) {
          ++turned;
          REQUIRE(shape.owner(maps[0].tiles[t]) != shape.owner(maps[0].tiles[t + stagger]));
        }
      }
  });
  REQUIRE(positions > 5000);
  REQUIRE(turned > 100);
}

TEST_CASE("shares of uneven splits take turns too") {
  const std::vector<int64_t> splits = {9, 0, 4};
  // The shares have 5, 0 and 2 tile rows. The first is this rank's.
  const Shape shape{13, 3, 3, 1, 3, 100, {1, 3}};
  const TileMap map = build_tile_map(shape.map(), {.rank = 0, .splits = splits});
  CHECK(rows(map, 0) == "0 9 11 2 4 6 8 ");
}

}  // namespace
}  // namespace tilepost::test
