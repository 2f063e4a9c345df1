// The tiles of grouped GEMMs (tilepost/internal/expert_tiles.h): whatever rows experts have, every
// element of the output has one tile.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tilepost/internal/expert_tiles.h"

namespace tilepost {
namespace {

// The table of experts with these numbers of rows.
struct Table {
  explicit Table(const std::vector<int>& counts, int tile_m) {
    for (const int count : counts) {
      all_rows.push_back(all_rows.back() + count);
      all_tile_rows.push_back(all_tile_rows.back() + (count + tile_m - 1) / tile_m);
    }
  }
  int rows(int expert) const { return all_rows[expert]; }
  int tile_rows(int expert) const { return all_tile_rows[expert]; }

  std::vector<int> all_rows{0}, all_tile_rows{0};
};

// Returns what is wrong with the tiles of experts with these rows, or "".
std::string wrong_tiles(const std::vector<int>& counts, int columns, int tile_m, int band) {
  const Table table(counts, tile_m);
  const auto experts = static_cast<int>(counts.size());
  const ExpertGrid grid{experts, columns, tile_m, band};
  const int rows = table.all_rows.back();
  if (table.all_tile_rows.back() > most_tile_rows(rows, experts, tile_m)) return "too many tiles";
  std::vector<std::vector<int>> covered(columns, std::vector<int>(rows, 0));
  for (int position = 0; position < table.all_tile_rows.back() * columns; ++position) {
    const ExpertTile tile = expert_tile(grid, table, position);
    if (tile.expert < 0 || tile.expert >= experts) return "an expert out of range";
    if (tile.column < 0 || tile.column >= columns) return "a column out of range";
    if (tile.rows < 1 || tile.rows > tile_m) return "a tile of no rows, or of too many";
    const int end = tile.row + tile.rows;
    if (tile.row < table.rows(tile.expert) || end > table.rows(tile.expert + 1))
      return "rows of another expert";
    if (end < table.rows(tile.expert + 1) && tile.rows % kExpertUnit != 0)
      return "a tile inside of an expert that is not whole units high";
    for (int row = tile.row; row < end; ++row) ++covered[tile.column][row];
  }
  for (const auto& column : covered)
    if (std::ranges::any_of(column, [](int times) { return times != 1; }))
      return "a row that is not computed once";
  return "";
}

TEST_CASE("Tiles of experts cover every row once, for all numbers of rows of one expert") {
  for (const int tile_m : {16, 32, 64, 128, 192})
    for (int rows = 0; rows <= 3 * tile_m + 17; ++rows)
      REQUIRE(wrong_tiles({rows}, 2, tile_m, 2) == "");
}

TEST_CASE("Tiles of experts cover every row once, for random experts") {
  std::mt19937 random(45);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < 1000; ++trial) {
    const int tile_m = kExpertUnit * (1 + below(12)), most = 1 + below(5 * tile_m);
    std::vector<int> counts(1 + below(40));
    for (int& count : counts) count = below(3) == 0 ? 0 : below(most);
    INFO("trial " << trial);
    REQUIRE(wrong_tiles(counts, 1 + below(7), tile_m, 1 + below(9)) == "");
  }
}

TEST_CASE("Tile rows of an expert are equally high, but for a unit") {
  REQUIRE(tile_row_at(200, 192, 0).count == 112);
  REQUIRE(tile_row_at(200, 192, 1).count == 88);
  REQUIRE(tile_row_at(1024, 192, 3).count == 176);
  REQUIRE(tile_row_at(1024, 192, 4).first == 704);
  REQUIRE(tile_row_at(1024, 192, 5).count == 160);
  for (const int tile_m : {16, 80, 192, 256})
    for (int rows = 1; rows <= 5 * tile_m; ++rows) {
      const int most = tile_row_at(rows, tile_m, 0).count;
      const int least = tile_row_at(rows, tile_m, count_tile_rows(rows, tile_m) - 1).count;
      INFO(rows << " rows in tiles of " << tile_m);
      REQUIRE(most <= tile_m);
      REQUIRE(least > most - 2 * kExpertUnit);  // the last one may also lack some of a unit
    }
}

TEST_CASE("The most tile rows are reached where experts have a row more than whole tiles") {
  REQUIRE(most_tile_rows(4, 64, 192) == 4);
  REQUIRE(most_tile_rows(64 * 193, 64, 192) == 128);
  REQUIRE(most_tile_rows(1, 1, 16) == 1);
}

}  // namespace
}  // namespace tilepost
