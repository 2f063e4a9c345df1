// Comparison and its words: every differing element counts, and the first one is named.
#include "runtime/verify/compare.h"

#include "tests/catch.h"

using namespace tilepost::verify;

namespace {

constexpr int32_t kCuts[] = {1, 3};

// 5 x 6 in tiles of 2 x 4: three tile rows, two columns, groups of one and two rows.
tilepost_plan_t make_plan(tilepost_layout_t layout) {
  static constexpr int32_t kSlotCuts[] = {2, 6};
  tilepost_plan_t plan{};
  plan.map = {5, 6, 2, 4, 1, 1, 1, layout, 2, layout == TILEPOST_PANEL ? kCuts : kSlotCuts};
  return plan;
}

const Problem kProblem{5, 6, 3, 2, TILEPOST_BF16, TILEPOST_BF16};

Expected make_expected() {
  Expected expected;
  for (int row = 0; row < 5; ++row) {
    expected.rows.push_back(row);
    for (int col = 0; col < 6; ++col) expected.sum.push_back(static_cast<float>(10 * row + col));
  }
  expected.bound.assign(30, 0.0f);
  return expected;
}

std::vector<uint16_t> make_output(const OutputLayout& layout, size_t elements) {
  std::vector<uint16_t> out(elements, 0xffff);
  for (int row = 0; row < 5; ++row)
    for (int col = 0; col < 6; ++col)
      out[layout.offset(row, col)] = encode(static_cast<float>(10 * row + col), TILEPOST_BF16);
  return out;
}

OutputLayout slots() {
  const tilepost_plan_t plan = make_plan(TILEPOST_TILE);
  const tilepost::TileMap map = tilepost::build_tile_map(plan.map);
  std::vector<int32_t> rows;
  for (const int32_t position : map.positions) rows.push_back(map.tiles[position].row);
  return OutputLayout(plan, rows);
}

}  // namespace

TEST_CASE("equal outputs compare equal, in both layouts") {
  const OutputLayout panel(make_plan(TILEPOST_PANEL), {});
  CHECK(panel.offset(3, 5) == 3 * 6 + 5);
  CHECK(compare(kProblem, panel, make_expected(), make_output(panel, 30).data()).different == 0);
  const OutputLayout tile = slots();
  const Comparison comparison =
      compare(kProblem, tile, make_expected(), make_output(tile, 48).data());
  CHECK(comparison.different == 0);
  CHECK(comparison.elements == 30);
}

TEST_CASE("every element of the slots has a place of its own") {
  const OutputLayout tile = slots();
  std::set<int64_t> offsets;
  for (int row = 0; row < 5; ++row)
    for (int col = 0; col < 6; ++col) offsets.insert(tile.offset(row, col));
  CHECK(offsets.size() == 30);
  CHECK(*offsets.rbegin() < 48);
}

TEST_CASE("any one wrong element is found and named") {
  const OutputLayout panel(make_plan(TILEPOST_PANEL), {});
  for (int row = 0; row < 5; ++row)
    for (int col = 0; col < 6; ++col) {
      std::vector<uint16_t> out = make_output(panel, 30);
      out[row * 6 + col] ^= 1;
      const Comparison comparison = compare(kProblem, panel, make_expected(), out.data());
      REQUIRE(comparison.different == 1);
      CHECK(comparison.row == row);
      CHECK(comparison.col == col);
      CHECK(comparison.place.tile_m == row / 2);
      CHECK(comparison.place.tile_n == col / 4);
      CHECK(comparison.place.group == (row < 2 ? 0 : 1));
    }
}

TEST_CASE("NaN is never equal, the sign of zero does not matter") {
  const OutputLayout panel(make_plan(TILEPOST_PANEL), {});
  std::vector<uint16_t> out = make_output(panel, 30);
  out[0] = 0x8000;
  CHECK(compare(kProblem, panel, make_expected(), out.data()).different == 0);
  out[0] = 0x7fc0;
  CHECK(compare(kProblem, panel, make_expected(), out.data()).different == 1);
  Expected expected = make_expected();
  expected.bound.assign(30, 1e30f);
  CHECK(compare(kProblem, panel, expected, out.data()).different == 1);
}

TEST_CASE("the words name place, values, count, tile and groups") {
  const OutputLayout panel(make_plan(TILEPOST_PANEL), {});
  std::vector<uint16_t> out = make_output(panel, 30);
  out[1 * 6 + 5] = encode(3.0f, TILEPOST_BF16);
  out[4 * 6 + 0] = 0xffff;
  CHECK(describe(compare(kProblem, panel, make_expected(), out.data())) ==
        "first difference at (1, 5): got 3, expected 15; 2 of 30 differ; tile (0, 1), position 1, "
        "group 0; groups with differences: 0, 1");
}

TEST_CASE("the bound is what decides, and the worst ratio is kept") {
  const OutputLayout panel(make_plan(TILEPOST_PANEL), {});
  Expected expected = make_expected();
  expected.bound.assign(30, 0.5f);
  expected.sum[7] += 0.25f;
  expected.sum[9] += 0.5f;
  const std::vector<uint16_t> out = make_output(panel, 30);
  const Comparison within = compare(kProblem, panel, expected, out.data());
  CHECK(within.different == 0);
  CHECK(within.worst_error == Approx(0.5));
  expected.sum[9] += 0.01f;
  CHECK(compare(kProblem, panel, expected, out.data()).different == 1);
}
