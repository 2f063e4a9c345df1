// Comparison and its texts. Every different element counts, and the first one is named.
#include "runtime/verify/reference/compare.h"

#include "tests/catch.h"

using namespace tilepost::verify;

namespace {

constexpr int32_t kCuts[] = {1, 3}, kSlotCuts[] = {2, 6};

// 5 x 6 in tiles of 2 x 4: three tile rows and two columns, in groups of one and two rows.
tilepost_plan_t make_plan(tilepost_layout_t layout) {
  tilepost_plan_t plan{};
  plan.transport = TILEPOST_TRANSPORT_HOST;
  plan.map = {5,
              6,
              2,
              4,
              1,
              1,
              1,
              layout,
              TILEPOST_DIVISION_ROWS,
              1,
              0,
              0,
              2,
              layout == TILEPOST_PANEL ? kCuts : kSlotCuts,
              0,
              0};
  return plan;
}

Problem make_problem(tilepost_layout_t layout = TILEPOST_PANEL) {
  Problem problem{5, 6, 3, 2, TILEPOST_BF16, TILEPOST_BF16};
  problem.layout = layout;
  problem.tile_m = 2;
  problem.tile_n = 4;
  return problem;
}

// One rank's view of a run.
struct Case {
  explicit Case(tilepost_layout_t layout)
      : plan(make_plan(layout)),
        problem(make_problem(layout)),
        shape(problem, 5, Spread::even, 0),
        place(problem, shape, 0,
              layout == TILEPOST_TILE ? slots_of(plan, 0, 5) : std::vector<int32_t>{}),
        tiles(plan, shape, 0) {}

  Comparison compare(const Expected& expected, const uint16_t* out) const {
    Comparison comparison;
    tilepost::verify::compare(problem, {out, place, shape, 0}, expected, 0, tiles, comparison);
    return comparison;
  }

  tilepost_plan_t plan;
  Problem problem;
  RunShape shape;
  OutputLayout place;
  TileIndex tiles;
};

Expected make_expected() {
  Expected expected;
  for (int row = 0; row < 5; ++row) {
    expected.rows.push_back(row);
    for (int col = 0; col < 6; ++col) expected.sum.push_back(static_cast<float>(10 * row + col));
  }
  expected.bound.assign(30, 0.0f);
  return expected;
}

std::vector<uint16_t> make_output(const Case& of) {
  std::vector<uint16_t> out(of.place.elements(), 0xffff);
  for (int row = 0; row < 5; ++row)
    for (int col = 0; col < 6; ++col)
      out[of.place.offset(row, col)] = encode(static_cast<float>(10 * row + col), TILEPOST_BF16);
  return out;
}

}  // namespace

TEST_CASE("equal outputs compare equal, in both layouts") {
  const Case panel(TILEPOST_PANEL), tile(TILEPOST_TILE);
  CHECK(panel.place.offset(3, 5) == 3 * 6 + 5);
  CHECK(panel.compare(make_expected(), make_output(panel).data()).different == 0);
  const Comparison comparison = tile.compare(make_expected(), make_output(tile).data());
  CHECK(comparison.different == 0);
  CHECK(comparison.elements == 30);
}

TEST_CASE("every element of the slots has a place of its own") {
  const Case tile(TILEPOST_TILE);
  std::set<int64_t> offsets;
  for (int row = 0; row < 5; ++row)
    for (int col = 0; col < 6; ++col) offsets.insert(tile.place.offset(row, col));
  CHECK(offsets.size() == 30);
  CHECK(tile.place.elements() == 48);
  CHECK(*offsets.rbegin() < 48);
}

TEST_CASE("any one wrong element is found and named") {
  const Case panel(TILEPOST_PANEL);
  for (int row = 0; row < 5; ++row)
    for (int col = 0; col < 6; ++col) {
      std::vector<uint16_t> out = make_output(panel);
      out[row * 6 + col] ^= 1;
      const Comparison comparison = panel.compare(make_expected(), out.data());
      REQUIRE(comparison.different == 1);
      CHECK(comparison.row == row);
      CHECK(comparison.col == col);
      CHECK(comparison.place.first_row == row / 2 * 2);
      CHECK(comparison.place.first_col == col / 4 * 4);
      CHECK(comparison.place.group == (row < 2 ? 0 : 1));
    }
}

TEST_CASE("NaN is never equal, the sign of zero does not matter") {
  const Case panel(TILEPOST_PANEL);
  std::vector<uint16_t> out = make_output(panel);
  out[0] = 0x8000;
  CHECK(panel.compare(make_expected(), out.data()).different == 0);
  out[0] = 0x7fc0;
  CHECK(panel.compare(make_expected(), out.data()).different == 1);
  Expected expected = make_expected();
  expected.bound.assign(30, 1e30f);
  CHECK(panel.compare(expected, out.data()).different == 1);
}

TEST_CASE("the words name place, values, count, tile and groups") {
  const Case panel(TILEPOST_PANEL);
  std::vector<uint16_t> out = make_output(panel);
  out[1 * 6 + 5] = encode(3.0f, TILEPOST_BF16);
  out[4 * 6 + 0] = 0xffff;
  CHECK(describe(panel.compare(make_expected(), out.data())) ==
        "first difference at (1, 5): got 3, expected 15; 2 of 30 differ; tile at (0, 4), position "
        "1, group 0; groups with differences: 0, 1");
}

TEST_CASE("the bound is what decides, and the worst ratio is kept") {
  const Case panel(TILEPOST_PANEL);
  Expected expected = make_expected();
  expected.bound.assign(30, 0.5f);
  expected.sum[7] += 0.25f;
  expected.sum[9] += 0.5f;
  const std::vector<uint16_t> out = make_output(panel);
  const Comparison within = panel.compare(expected, out.data());
  CHECK(within.different == 0);
  CHECK(within.worst_error == Approx(0.5));
  expected.sum[9] += 0.01f;
  CHECK(panel.compare(expected, out.data()).different == 1);
}
