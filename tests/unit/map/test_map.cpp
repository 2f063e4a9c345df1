// build_tile_map on examples small enough to check by hand, and its order's promises.
#include <set>

#include "tests/catch.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

tilepost_map_t recipe(int64_t m, int64_t n, int cluster, int band, tilepost_layout_t layout,
                      const std::vector<int32_t>& cuts) {
  return {m, n, 2, 3, cluster, band, 1, layout, static_cast<int32_t>(cuts.size()), cuts.data()};
}

std::string order(const TileMap& map) {
  std::string text;
  for (const tilepost_tile_t& tile : map.tiles)
    text += std::to_string(tile.m) + std::to_string(tile.n) + (tile.row < 0 ? "- " : " ");
  return text;
}

TEST_CASE("bands are swept to and fro") {
  const std::vector<int32_t> cuts = {4};
  // Within a band rows run downwards in both directions.
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
  REQUIRE(order(map) == "00 10 01 11 21 31- 20 30- ");
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
  // Tile layout: n = 7 and n = 9 have the same tiles and slots, hence the same schedule.
  REQUIRE(static_cast<int>(hashes.size()) == maps - 4);
}

TEST_CASE("offsets need 64 bits and have them") {
  SmallPlan small;
  small.m = 1 << 17, small.n = 1 << 17;
  small.tile_m = 256, small.tile_n = 256;
  small.gemm_ctas = 128, small.cluster = 2, small.band = 8;
  small.cuts = {256, 512};
  const Plan p = build_plan(small);
  REQUIRE(p.map.groups[1].offset == int64_t{1} << 33);
  REQUIRE(verify_plan(p).empty());
}

}  // namespace
}  // namespace tilepost::test
