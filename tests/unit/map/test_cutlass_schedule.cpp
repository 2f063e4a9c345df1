// How CUTLASS's kernels walk over the schedule: their roles agree on which tile is whose and where
// it goes.
#include <cstdint>
#include <set>
#include <vector>

#include "tests/catch.h"
#include "tilepost/cutlass/schedule.h"

using namespace tilepost::cutlass;

namespace {

// The positions of a role as TileScheduler walks. A role begins at its block's number, skips `turn`
// positions of its block, and takes every `turns`-th position from there.
std::vector<int> walked(int block, int blocks, int turns, int turn, int tiles) {
  std::vector<int> positions;
  for (int at = block + turn * blocks; at < tiles; at += turns * blocks) positions.push_back(at);
  return positions;
}

}  // namespace

TEST_CASE("roles of CUTLASS's kernels store what they have multiplied", "[cutlass]") {
  for (int turns = 1; turns <= 2; ++turns)
    for (int blocks = 1; blocks <= 9; ++blocks)
      for (int tiles = 1; tiles <= 40; ++tiles) {
        std::set<int> stored;
        for (int block = 0; block < blocks; ++block) {
          std::vector<int> by_turns;
          for (int turn = 0; turn < turns; ++turn) {
            int nth = 0;
            for (const int position : walked(block, blocks, turns, turn, tiles)) {
              REQUIRE(position_of(block, blocks, turns, turn, nth++) == position);
              REQUIRE(stored.insert(position).second);
            }
            REQUIRE(position_of(block, blocks, turns, turn, nth) >= tiles);
          }
          // The loader does not take turns. It sees the same tiles in the order in which they are
          // stored.
          int nth = 0;
          for (const int position : walked(block, blocks, 1, 0, tiles)) {
            REQUIRE(position_of(block, blocks, turns, nth % turns, nth / turns) == position);
            ++nth;
          }
        }
        REQUIRE(stored.size() == static_cast<size_t>(tiles));
      }
}

TEST_CASE("tiles go to their places, and padding nowhere", "[cutlass]") {
  constexpr int kTileM = 128, kTileN = 256, kRows = 5;
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < 3; ++column)
      for (const int place : {0, 7, 128, 1000}) {
        const tilepost_tile_t tile = {row * kTileM, column * kTileN, place, 1};
        const Work work = work_of(tile, kTileM, kTileN, kRows);
        REQUIRE(work.row == row);
        REQUIRE(work.column == column);
        REQUIRE(shift_of(tile) != kNowhere);
        REQUIRE(work.row * kTileM + shift_of(tile) == place);
      }
  // A padding tile may have any row.
  const tilepost_tile_t padding = {128, 512, -1, 0};
  REQUIRE(work_of(padding, kTileM, kTileN, kRows).row == kRows);
  REQUIRE(work_of(padding, kTileM, kTileN, kRows).column == 2);
  REQUIRE(shift_of(padding) == kNowhere);
}

TEST_CASE("a tile is told of when its role's next one is of another group", "[cutlass]") {
  uint32_t random = 7;
  for (int tiles = 1; tiles <= 30; ++tiles)
    for (int groups = 1; groups <= 4; ++groups) {
      std::vector<int> group(static_cast<size_t>(tiles)), told(4), expected(4);
      for (int& each : group) {
        random = random * 1664525 + 1013904223;
        each = static_cast<int>(random >> 16) % groups;
        ++expected[static_cast<size_t>(each)];
      }
      int untold = 0;
      for (size_t i = 0; i < group.size(); ++i) {
        const bool more = i + 1 < group.size();
        const int now = told_behind(group[i], more, more ? group[i + 1] : 0, untold);
        REQUIRE((now > 0) == (!more || group[i + 1] != group[i]));
        told[static_cast<size_t>(group[i])] += now;
      }
      REQUIRE(untold == 0);
      REQUIRE(told == expected);
    }
}
