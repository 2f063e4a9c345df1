// How tokens are spread over experts in measurements.
#include <algorithm>
#include <set>

#include "runtime/bench/experts/load.h"
#include "tests/catch.h"

namespace tilepost::bench {
namespace {

constexpr ExpertLoad kAllLoads[] = {ExpertLoad::random, ExpertLoad::even, ExpertLoad::one_expert,
                                    ExpertLoad::one_rank};

tilepost_plan_t plan_of(int ranks, int local_experts, int top, int64_t m) {
  tilepost_plan_t plan{};
  plan.ranks = plan.map.ranks = ranks;
  plan.experts = local_experts;
  plan.top = top;
  plan.map.m = m;
  return plan;
}

std::vector<int64_t> rows_of_ranks(const tilepost_plan_t& plan, ExpertLoad load) {
  const std::vector<TokenIds> all = draw_tokens(plan, load, 1);
  std::vector<int64_t> rows;
  for (int rank = 0; rank < plan.ranks; ++rank) rows.push_back(sort_rows(plan, all, rank).count());
  return rows;
}

TEST_CASE("every token has different experts, and every route a row") {
  for (const ExpertLoad load : kAllLoads)
    for (const int ranks : {1, 2, 3}) {
      const tilepost_plan_t plan = plan_of(ranks, 8, 4, 1000);
      const std::vector<TokenIds> all = draw_tokens(plan, load, 7);
      int64_t tokens = 0, rows = 0;
      for (const TokenIds& own : all) {
        tokens += own.tokens;
        REQUIRE(own.ids.size() == static_cast<size_t>(own.tokens) * 4);
        for (size_t i = 0; i < own.ids.size(); i += 4) {
          const std::set<int32_t> ids(own.ids.begin() + static_cast<std::ptrdiff_t>(i),
                                      own.ids.begin() + static_cast<std::ptrdiff_t>(i + 4));
          REQUIRE(ids.size() == 4);
          REQUIRE(*ids.begin() >= 0);
          REQUIRE(*ids.rbegin() < 8 * ranks);
        }
      }
      for (const int64_t of_rank : rows_of_ranks(plan, load)) rows += of_rank;
      REQUIRE(tokens == 1000);
      REQUIRE(rows == 4000);
    }
}

TEST_CASE("loads are what they are called") {
  const tilepost_plan_t plan = plan_of(2, 64, 8, 8192);
  const int64_t routes = 8192 * 8;
  const auto rows_of_first = [&](ExpertLoad load) {
    return sort_rows(plan, draw_tokens(plan, load, 1), 0).ends.front();
  };
  CHECK(rows_of_ranks(plan, ExpertLoad::even) == std::vector<int64_t>{routes / 2, routes / 2});
  CHECK(rows_of_first(ExpertLoad::even) == routes / 128);
  CHECK(rows_of_first(ExpertLoad::one_expert) == Approx(8192 / 2).epsilon(0.05));
  CHECK(rows_of_first(ExpertLoad::random) == Approx(routes / 128).epsilon(0.2));
  const std::vector<int64_t> uneven = rows_of_ranks(plan, ExpertLoad::one_rank);
  CHECK(static_cast<double>(uneven[0]) ==
        Approx(2.0 * static_cast<double>(uneven[1])).epsilon(0.05));

  const tilepost_plan_t alone = plan_of(1, 16, 0, 4096);
  CHECK(draw_ends(alone, ExpertLoad::even, 1).front() == 256);
  CHECK(draw_ends(alone, ExpertLoad::one_expert, 1).front() > 2048);
  for (const ExpertLoad load : kAllLoads) CHECK(draw_ends(alone, load, 1).back() == 4096);
}

TEST_CASE("rows are in the order of a routing") {
  const tilepost_plan_t plan = plan_of(3, 5, 4, 301);
  const std::vector<TokenIds> all = draw_tokens(plan, ExpertLoad::random, 3);
  const int share = 101;
  for (int rank = 0; rank < 3; ++rank) {
    const RankRows rows = sort_rows(plan, all, rank);
    std::vector<int> expected;
    for (int expert = rank * 5; expert < rank * 5 + 5; ++expert)
      for (int distance = 0; distance < 3; ++distance) {
        const int source = (rank + distance) % 3;
        for (size_t route = 0; route < all[source].ids.size(); ++route)
          if (all[source].ids[route] == expert)
            expected.push_back(source * share + static_cast<int>(route) / 4);
      }
    REQUIRE(rows.tokens == expected);
    REQUIRE(rows.count() == static_cast<int64_t>(expected.size()));
  }
}

}  // namespace
}  // namespace tilepost::bench
