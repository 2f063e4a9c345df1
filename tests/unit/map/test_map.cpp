// build_tile_map on examples that are small enough to check by hand, and the properties of its
// order.
#include <set>

#include "runtime/map/tile_map.h"
#include "tests/catch.h"

namespace tilepost::test {
namespace {

tilepost_map_t recipe(int64_t m, int64_t n, int cluster, int band, tilepost_layout_t layout,
                      const std::vector<int32_t>& cuts,
                      tilepost_division_t division = TILEPOST_DIVISION_ROWS, int ranks = 1) {
  return {m,
          n,
          2,
          3,
          cluster,
          band,
          1,
          layout,
          division,
          ranks,
          0,
          0,
          static_cast<int32_t>(cuts.size()),
          cuts.data(),
          0,
          0};
}

// The row and column of each tile, counted in tiles of 2 x 3, in order. "-" is the row of padding.
std::string order(const TileMap& map) {
  std::string text;
  for (const tilepost_tile_t& tile : map.tiles)
    text += (tile.row < 0 ? "-" : std::to_string(tile.m / 2)) + std::to_string(tile.n / 3) + " ";
  return text;
}

// For each tile of the first column: its first row in the product, its row in the destination, and
// its group.
std::string rows(const TileMap& map) {
  std::string text;
  for (const tilepost_tile_t& tile : map.tiles)
    if (tile.n == 0 && tile.row >= 0)
      text += std::to_string(tile.m) + ">" + std::to_string(tile.row) + "/" +
              std::to_string(tile.group) + " ";
  return text;
}

TEST_CASE("bands are swept to and fro") {
  const std::vector<int32_t> cuts = {4};
  // Within a band rows run downwards, whether columns are swept to or fro.
  REQUIRE(order(build_tile_map(recipe(8, 9, 1, 2, TILEPOST_PANEL, cuts))) ==
          "00 10 01 11 02 12 22 32 21 31 20 30 ");
}

TEST_CASE("panel groups are whole rows with their own bands") {
  const std::vector<int32_t> cuts = {1, 3};
  const TileMap map = build_tile_map(recipe(5, 4, 1, 2, TILEPOST_PANEL, cuts));
  REQUIRE(order(map) == "00 01 11 21 10 20 ");
  REQUIRE(map.groups.size() == 2);
  REQUIRE(map.groups[0].count == 2 * 4);
  REQUIRE(map.groups[1].offset == 8);
  REQUIRE(map.groups[1].count == 3 * 4);
  REQUIRE(map.send_elements == 20);
}

TEST_CASE("a cluster pads the last tile row, and padding posts but is not stored") {
  const std::vector<int32_t> cuts = {3};
  const TileMap map = build_tile_map(recipe(6, 6, 2, 2, TILEPOST_PANEL, cuts));
  REQUIRE(order(map) == "00 10 01 11 21 -1 20 -0 ");
  REQUIRE(map.groups[0].num_tiles == 8);
  REQUIRE(map.groups[0].target == 8);
  REQUIRE(map.positions == std::vector<int32_t>{0, 2, 1, 3, 6, 4});
}

TEST_CASE("tile layout numbers slots in schedule order") {
  const std::vector<int32_t> cuts = {2, 4};
  const TileMap map = build_tile_map(recipe(3, 5, 1, 2, TILEPOST_TILE, cuts));
  REQUIRE(map.tiles.size() == 4);
  for (int t = 0; t < 4; ++t) REQUIRE(map.tiles[t].row == 2 * t);
  REQUIRE(map.groups[1].offset == 2 * 6);
  REQUIRE(map.send_elements == 4 * 6);
}

TEST_CASE("tiles say their first row and column") {
  const std::vector<int32_t> cuts = {2};
  const TileMap map = build_tile_map(recipe(4, 6, 1, 2, TILEPOST_PANEL, cuts));
  REQUIRE(map.tiles.size() == 4);
  REQUIRE(map.tiles[3].m == 2);
  REQUIRE(map.tiles[3].n == 3);
}

TEST_CASE("shares: a group has an equal part of every share, padded to whole tiles") {
  // 3 ranks with 4, 4 and 3 of 11 rows. Each tile row of a share is a group.
  const std::vector<int32_t> cuts = {1, 2};
  const TileMap map =
      build_tile_map(recipe(11, 3, 1, 9, TILEPOST_PANEL, cuts, TILEPOST_DIVISION_SHARES, 3));
  REQUIRE(rows(map) == "0>0/0 4>2/0 8>4/0 2>6/1 6>8/1 10>10/1 ");
  REQUIRE(map.groups[1].offset == 6 * 3);
  REQUIRE(map.groups[1].count == 6 * 3);
  REQUIRE(map.send_elements == 12 * 3);
  REQUIRE(map.positions == std::vector<int32_t>{0, 3, 1, 4, 2, 5});
}

TEST_CASE("shares: a rank without rows leaves its part of the block empty") {
  // 4 ranks with 2, 2, 1 and 0 of 5 rows.
  const std::vector<int32_t> cuts = {1};
  const TileMap map =
      build_tile_map(recipe(5, 3, 1, 9, TILEPOST_PANEL, cuts, TILEPOST_DIVISION_SHARES, 4));
  REQUIRE(rows(map) == "0>0/0 2>2/0 4>4/0 ");
  REQUIRE(map.groups[0].count == 8 * 3);
  REQUIRE(map.positions == std::vector<int32_t>{0, 1, 2, -1});
}

TEST_CASE("splits: cuts are the same part of every share") {
  const std::vector<int32_t> cuts = {1, 2};
  const std::vector<int64_t> splits = {8, 0, 3};
  const TileMap map =
      build_tile_map(recipe(11, 3, 1, 9, TILEPOST_PANEL, cuts, TILEPOST_DIVISION_SHARES, 3),
                     {.rank = 0, .splits = splits});
  REQUIRE(rows(map) == "0>0/0 2>2/0 8>4/0 4>6/1 6>8/1 10>10/1 ");
  REQUIRE(map.positions.empty());
}

TEST_CASE("columns: a tile column is a slab of all rows, with room for every share") {
  // 3 ranks with room for 2 of 5 rows each, so slabs have 6 rows.
  const std::vector<int32_t> cuts = {1, 3};
  const TileMap map =
      build_tile_map(recipe(5, 8, 1, 9, TILEPOST_TILE, cuts, TILEPOST_DIVISION_COLUMNS, 3));
  REQUIRE(order(map) == "00 10 20 01 11 21 02 12 22 ");
  REQUIRE(map.tiles[7].row == 2 * 6 + 2);
  REQUIRE(map.groups[1].offset == 6 * 3);
  REQUIRE(map.groups[1].count == 2 * 6 * 3);
}

TEST_CASE("arrivals: the own share first, then the next ranks', and the last of its rows decides") {
  // 3 ranks with 4 of 12 rows each, in chunks of one tile row.
  const std::vector<int32_t> cuts = {0, 1, 2};
  const tilepost_map_t map =
      recipe(12, 3, 1, 9, TILEPOST_PANEL, cuts, TILEPOST_DIVISION_ARRIVALS, 3);
  REQUIRE(rows(build_tile_map(map, {.rank = 1, .splits = {}})) ==
          "4>4/0 6>6/0 8>8/1 0>0/1 10>10/2 2>2/2 ");
  // With shares of 3 rows, tiles cross the borders of shares.
  const tilepost_map_t crossing =
      recipe(9, 3, 1, 9, TILEPOST_PANEL, cuts, TILEPOST_DIVISION_ARRIVALS, 3);
  REQUIRE(rows(build_tile_map(crossing, {.rank = 0, .splits = {}})) ==
          "0>0/0 2>2/1 6>6/1 4>4/2 8>8/2 ");
  for (const tilepost_group_t& group : build_tile_map(crossing).groups) REQUIRE(group.target == 1);
}

TEST_CASE("clusters are mates of one column, wherever their rows are") {
  const std::vector<int32_t> cuts = {1, 2};
  const TileMap map =
      build_tile_map(recipe(12, 3, 2, 2, TILEPOST_PANEL, cuts, TILEPOST_DIVISION_SHARES, 3));
  // A group has one tile of each of three shares and one padding tile.
  REQUIRE(map.tiles.size() == 8);
  REQUIRE(rows(map) == "0>0/0 4>2/0 8>4/0 2>6/1 6>8/1 10>10/1 ");
}

TEST_CASE("cuts that do not fit their division are refused") {
  const auto valid = [](tilepost_division_t division, tilepost_layout_t layout,
                        std::vector<int32_t> cuts, int cluster = 1) {
    return cuts_are_valid(recipe(12, 8, cluster, 2, layout, cuts, division, 3));
  };
  REQUIRE(valid(TILEPOST_DIVISION_ROWS, TILEPOST_PANEL, {2, 6}));
  REQUIRE(valid(TILEPOST_DIVISION_ROWS, TILEPOST_PANEL, {2, 6}, 2));
  REQUIRE_FALSE(valid(TILEPOST_DIVISION_ROWS, TILEPOST_PANEL, {3, 6}, 2));
  REQUIRE_FALSE(valid(TILEPOST_DIVISION_ROWS, TILEPOST_PANEL, {2, 5}));
  REQUIRE_FALSE(valid(TILEPOST_DIVISION_ROWS, TILEPOST_PANEL, {2, 2, 6}));
  REQUIRE(valid(TILEPOST_DIVISION_ROWS, TILEPOST_TILE, {7, 18}));
  REQUIRE(valid(TILEPOST_DIVISION_SHARES, TILEPOST_PANEL, {1, 2}, 4));
  REQUIRE_FALSE(valid(TILEPOST_DIVISION_SHARES, TILEPOST_PANEL, {1, 3}));
  REQUIRE(valid(TILEPOST_DIVISION_COLUMNS, TILEPOST_TILE, {1, 3}));
  REQUIRE_FALSE(valid(TILEPOST_DIVISION_COLUMNS, TILEPOST_TILE, {0, 3}));
  REQUIRE(valid(TILEPOST_DIVISION_ARRIVALS, TILEPOST_PANEL, {0, 2}));
  REQUIRE_FALSE(valid(TILEPOST_DIVISION_ARRIVALS, TILEPOST_PANEL, {2}));
  REQUIRE_FALSE(valid(TILEPOST_DIVISION_ARRIVALS, TILEPOST_PANEL, {1, 2}));
}

TEST_CASE("the hash tells schedules apart") {
  std::set<uint64_t> hashes;
  int maps = 0;
  for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE}) {
    for (const int cut : {2, 4}) {
      for (const int n : {6, 7, 9}) {
        for (const int cluster : {1, 2}) {
          const int rows = cluster == 1 ? 5 : 6;
          const std::vector<int32_t> cuts = {cut,
                                             layout == TILEPOST_PANEL ? 5 : rows * ((n + 2) / 3)};
          hashes.insert(hash_tile_map(build_tile_map(recipe(10, n, cluster, 2, layout, cuts))));
          ++maps;
        }
      }
    }
  }
  // With the tile layout, n = 7 and n = 9 have the same tiles and slots, and so the same schedule.
  REQUIRE(static_cast<int>(hashes.size()) == maps - 4);
}

}  // namespace
}  // namespace tilepost::test
