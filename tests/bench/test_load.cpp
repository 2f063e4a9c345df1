// How tokens are spread over experts in measurements.
#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/bench/experts/load.h"
#include "runtime/bench/experts/sampled_rows.h"
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
        REQUIRE(own.weights.size() == own.ids.size());
        const std::set<float> weights(own.weights.begin(), own.weights.end());
        REQUIRE(weights == std::set<float>{1, 2, 3});
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

// The row of each route of rank `home` on the rank of its expert: how many come before it there.
std::vector<int32_t> rows_of_routes(const tilepost_plan_t& plan, const std::vector<TokenIds>& all,
                                    int home) {
  std::vector<int32_t> rows;
  for (const int32_t id : all[home].ids) {
    const int where = id / plan.experts, distance = (home - where + plan.ranks) % plan.ranks;
    int32_t before = 0;
    for (int source = 0; source < plan.ranks; ++source) {
      const int other = (source - where + plan.ranks) % plan.ranks;
      for (size_t i = 0; i < all[source].ids.size(); ++i) {
        const int32_t expert = all[source].ids[i];
        const bool same =
            expert == id && (other < distance || (other == distance && i < rows.size()));
        before += (expert / plan.experts == where && expert < id) || same ? 1 : 0;
      }
    }
    rows.push_back(before);
  }
  return rows;
}

TEST_CASE("the rows of a token are those of its routes, in the order of experts") {
  const tilepost_plan_t plan = plan_of(3, 5, 4, 31);
  const std::vector<TokenIds> all = draw_tokens(plan, ExpertLoad::random, 4);
  const size_t share = 11, top = 4;
  for (int where = 0; where < 3; ++where) {
    const TokenRows found = rows_of_tokens(plan, sort_rows(plan, all, where));
    REQUIRE(found.rows.size() == 3 * share * top);
    REQUIRE(found.weights.size() == 3 * share * top);
    for (int home = 0; home < 3; ++home) {
      const std::vector<int32_t> rows = rows_of_routes(plan, all, home);
      for (size_t token = 0; token < share; ++token) {
        // A token that the last rank lacks has no rows.
        std::vector<std::pair<int32_t, float>> expected;
        for (size_t i = token * top; i < std::min((token + 1) * top, rows.size()); ++i)
          if (all[home].ids[i] / 5 == where) expected.emplace_back(rows[i], all[home].weights[i]);
        std::ranges::sort(expected);
        expected.resize(top, {-1, 0.f});
        for (size_t i = 0; i < top; ++i) {
          const size_t entry = (static_cast<size_t>(home) * share + token) * top + i;
          REQUIRE(found.rows[entry] == expected[i].first);
          REQUIRE(found.weights[entry] == expected[i].second);
        }
      }
    }
  }
}

TEST_CASE("the reference takes all rows of the first, the last and some other tokens") {
  CHECK(sample_tokens(0).empty());
  CHECK(sample_tokens(1) == std::vector<int32_t>{0});
  CHECK(sample_tokens(3) == std::vector<int32_t>{0, 1, 2});
  const std::vector<int32_t> many = sample_tokens(8192);
  CHECK((many.size() == 32 && many.front() == 0 && many.back() == 8191));
  CHECK(std::ranges::adjacent_find(many, std::greater_equal{}) == many.end());

  const tilepost_plan_t plan = plan_of(3, 5, 4, 199);
  const std::vector<TokenIds> all = draw_tokens(plan, ExpertLoad::one_rank, 5);
  for (int home = 0; home < 3; ++home) {
    const std::vector<int32_t> rows = rows_of_routes(plan, all, home);
    const std::vector<int32_t> tokens = sample_tokens(all[home].tokens);
    for (int where = 0; where < 3; ++where) {
      std::vector<std::tuple<int, int, int, float>> expected, found;
      for (size_t i = 0; i < rows.size(); ++i) {
        const auto token = std::ranges::find(tokens, static_cast<int32_t>(i / 4));
        if (token != tokens.end() && all[home].ids[i] / 5 == where)
          expected.emplace_back(token - tokens.begin(), rows[i], all[home].ids[i] % 5,
                                all[home].weights[i]);
      }
      for (const SampledRow& row : rows_of_sample(plan, sort_rows(plan, all, where), home, tokens))
        found.emplace_back(row.sample, row.row, row.expert, row.weight);
      std::ranges::sort(expected);
      std::ranges::sort(found);
      REQUIRE(!expected.empty());
      REQUIRE(found == expected);
    }
  }
}

}  // namespace
}  // namespace tilepost::bench
