// Parts of shares whose sums are added up at home, and the order in which ranks make them.
#include "runtime/map/sum_parts.h"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/catch.h"

namespace tilepost {
namespace {

tilepost_plan_t plan_of(int ranks, int64_t m, int64_t n) {
  tilepost_plan_t plan{};
  plan.ranks = ranks;
  plan.map.m = m;
  plan.map.n = n;
  return plan;
}

TEST_CASE(
    "sum parts: every column of a row is in one part, and no run has more parts than the plan") {
  std::mt19937 random(461);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < 2000; ++trial) {
    const int ranks = 2 + below(7), n = 8 * (1 + below(1024)), most = 1 + below(40000);
    const tilepost_plan_t plan = plan_of(ranks, most, n);
    const int m = below(4) == 0 ? most : 1 + below(std::min(most, 1 << below(17)));
    const SumParts parts = sum_parts(plan, m);
    INFO(ranks << " ranks, " << m << " of " << most << " tokens, " << n << " columns");
    REQUIRE(parts.rows == (m + ranks - 1) / ranks);
    REQUIRE(parts.columns * parts.across >= n);
    REQUIRE(parts.columns * (parts.across - 1) < n);
    REQUIRE((parts.across == 1 || parts.columns % 8 == 0));
    REQUIRE(parts.count() <= most_sum_parts(plan));
  }
}

TEST_CASE("sum parts: every ticket is somebody's, once, and what it waits for has a lower one") {
  for (const int ranks : {2, 3, 4, 8})
    for (const int count : {0, 1, 2, 17})
      for (int lag = 0; lag <= count; ++lag) {
        INFO(ranks << " ranks, " << count << " parts, " << lag << " late");
        const SumParts parts{count, 8, 1};
        // The ticket of each part of each share, by the rank that makes it.
        std::vector<std::vector<std::vector<int>>> tickets(
            ranks, std::vector<std::vector<int>>(ranks, std::vector<int>(count, -1)));
        for (int rank = 0; rank < ranks; ++rank)
          for (int ticket = 0; ticket < sum_tickets(parts, ranks, lag); ++ticket) {
            const SumTurn turn = sum_turn(ticket, rank, ranks, lag);
            if (turn.number < 0 || turn.number >= count) continue;
            REQUIRE(tickets[rank][turn.owner][turn.number] == -1);
            tickets[rank][turn.owner][turn.number] = ticket;
          }
        for (int owner = 0; owner < ranks; ++owner)
          for (int number = 0; number < count; ++number)
            for (int rank = 0; rank < ranks; ++rank) {
              REQUIRE(tickets[rank][owner][number] >= 0);
              if (rank != owner)
                REQUIRE(tickets[rank][owner][number] < tickets[owner][owner][number]);
            }
      }
}

}  // namespace
}  // namespace tilepost
