// Where rows of A are routed: the rows that each rank brings, gets and multiplies.
#include "runtime/verify/reference/shape.h"

#include <algorithm>
#include <numeric>

#include "tests/catch.h"

using namespace tilepost::verify;

namespace {

Problem routed(int ranks, int64_t m, int64_t most, tilepost_routing_t routing, bool any_m) {
  Problem problem{m, 8, 8, ranks, TILEPOST_BF16, TILEPOST_BF16, TILEPOST_ALL_TO_ALL_GEMM};
  problem.routing = routing;
  problem.any_m = any_m;
  problem.most_received = most;
  return problem;
}

// Whether a rank's rows are in the order of their sources, and of each source's rows.
bool in_order(std::span<const RowOrigin> rows) {
  return std::is_sorted(rows.begin(), rows.end(), [](const RowOrigin& x, const RowOrigin& y) {
    return std::pair(x.rank, x.row) < std::pair(y.rank, y.row);
  });
}

}  // namespace

TEST_CASE("a rank multiplies the rows that are sent to it, each of them once") {
  const auto routing =
      GENERATE(TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS);
  const auto spread =
      GENERATE(Spread::random, Spread::all_to_one, Spread::some_empty, Spread::even);
  const int ranks = GENERATE(1, 2, 3, 8);
  const int64_t m = GENERATE(1, 7, 100);
  const bool any_m = GENERATE(false, true);
  const int64_t even = (m + ranks - 1) / ranks * ranks;
  const Problem problem =
      routed(ranks, m, routing == TILEPOST_ROUTING_EVEN ? even : m + 1, routing, any_m);
  const RunShape shape(problem, m, spread, 11);
  int64_t brought = 0, received = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    CHECK(shape.a_rows(rank) <= m);
    CHECK(shape.rows(rank) <= problem.most_received);
    CHECK(shape.out_rows(rank) == shape.rows(rank));
    const auto rows = shape.input_rows(rank);
    REQUIRE(static_cast<int64_t>(rows.size()) == shape.rows(rank));
    CHECK(in_order(rows));
    for (const RowOrigin& row : rows) CHECK(shape.destinations(row.rank)[row.row] == rank);
    for (int source = 0; source < ranks; ++source)
      CHECK(shape.rows_from(rank, source) == shape.splits(source)[rank]);
    for (int64_t row = 0; row < shape.rows(rank); ++row) CHECK(shape.out_row(rank, 0, row) == row);
    brought += shape.a_rows(rank), received += shape.rows(rank);
    if (!any_m || rank == 0) CHECK(shape.a_rows(rank) == m);
  }
  CHECK(brought == received);
}

TEST_CASE("equal shares are the same rows of every rank") {
  const Problem problem = routed(3, 10, 12, TILEPOST_ROUTING_EVEN, false);
  const RunShape shape(problem, 10, Spread::random, 1);
  CHECK(shape.rows(0) == 12);
  CHECK(shape.rows(2) == 6);
  const auto last = shape.input_rows(2);
  for (int i = 0; i < 6; ++i) {
    CHECK(last[i].rank == i / 2);
    CHECK(last[i].row == 8 + i % 2);
  }
}

TEST_CASE("rows that no rank has room for are left out") {
  const Problem problem = routed(4, 40, 13, TILEPOST_ROUTING_ROWS, true);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const RunShape shape(problem, 40, Spread::all_to_one, seed);
    int64_t all = 0;
    for (int rank = 0; rank < 4; ++rank) {
      CHECK(shape.rows(rank) <= 13);
      all += shape.rows(rank);
    }
    CHECK(all >= 40);
  }
}
