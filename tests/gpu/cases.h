// The cases of a program: how many rows a run has, and where rows go. Every rank makes the cases of
// all ranks from one seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tilepost/plan.h"

namespace gpu_test {

// One rank's rows and, if the plan is routed, the rank that each row goes to.
struct RankCase {
  int64_t m = 0;
  std::vector<int64_t> splits;
  std::vector<int32_t> destinations;
};

using Case = std::vector<RankCase>;  // indexed by rank

// Whether rows go from every rank to particular ranks: rows of the product, or rows of A.
inline bool exchanges_rows(const tilepost_plan_t& plan) {
  return plan.pattern == TILEPOST_GEMM_ALL_TO_ALL || plan.pattern == TILEPOST_ALL_TO_ALL_GEMM;
}

inline bool is_routed(const tilepost_plan_t& plan) {
  return exchanges_rows(plan) && plan.routing != TILEPOST_ROUTING_EVEN;
}

// The m of runs, or the bound of m: rows of A on each rank, or rows of the product.
inline int64_t most_rows(const tilepost_plan_t& plan) {
  return plan.pattern == TILEPOST_ALL_TO_ALL_GEMM ? plan.rows_sent : plan.map.m;
}

// A number of rows from 1 to `most`. Small numbers are as likely as large ones.
inline int64_t random_rows(std::mt19937& random, int64_t most) {
  const int64_t bound = random() % 2 == 0 ? most : std::min<int64_t>(most, 200);
  return 1 + static_cast<int64_t>(random() % bound);
}

// The rank that each of m rows goes to: random ranks, one rank, one of two ranks, or ranks in
// order.
inline std::vector<int32_t> random_destinations(std::mt19937& random, int64_t m, int ranks) {
  std::vector<int32_t> destinations(static_cast<size_t>(m));
  const uint32_t kind = random() % 4;
  const auto favourite = static_cast<int32_t>(random() % ranks);
  for (size_t row = 0; row < destinations.size(); ++row) {
    const auto any = static_cast<int32_t>(random() % ranks);
    if (kind == 0) destinations[row] = any;
    if (kind == 1) destinations[row] = favourite;
    if (kind == 2) destinations[row] = random() % 8 == 0 ? (favourite + 1) % ranks : favourite;
    if (kind == 3) destinations[row] = static_cast<int32_t>(row * ranks / destinations.size());
  }
  return destinations;
}

// Moves rows away from ranks that would multiply more rows than the plan is for, to the next rank
// with room. All ranks together have room for all rows.
inline void keep_within_bounds(const tilepost_plan_t& plan, Case& made) {
  if (plan.pattern != TILEPOST_ALL_TO_ALL_GEMM) return;
  std::vector<int64_t> received(plan.ranks, 0);
  for (RankCase& rank : made)
    for (int32_t& destination : rank.destinations) {
      while (received[destination] >= plan.map.m) destination = (destination + 1) % plan.ranks;
      ++received[destination];
    }
}

// The case of `seed`. With seed 0 a plan for any m has the planned number of rows.
inline Case make_case(const tilepost_plan_t& plan, uint32_t seed) {
  std::mt19937 random(seed);
  Case made(plan.ranks);
  const int64_t most = most_rows(plan);
  const int64_t common = plan.any_m && seed != 0 ? random_rows(random, most) : most;
  for (RankCase& rank : made) {
    rank.m = common;
    if (!is_routed(plan)) continue;
    if (plan.any_m && seed != 0) rank.m = random_rows(random, most) - random() % 2;
    rank.destinations = random_destinations(random, rank.m, plan.ranks);
  }
  keep_within_bounds(plan, made);
  if (plan.routing != TILEPOST_ROUTING_SPLITS) return made;
  for (RankCase& rank : made) {
    std::sort(rank.destinations.begin(), rank.destinations.end());
    rank.splits.assign(plan.ranks, 0);
    for (const int32_t destination : rank.destinations) ++rank.splits[destination];
  }
  return made;
}

// The rows of `source`'s product, or of its A, that end in the output of `rank`, in their order
// there.
inline std::vector<int32_t> rows_between(const tilepost_plan_t& plan, const Case& all, int source,
                                         int rank) {
  std::vector<int32_t> rows;
  const int64_t m = all[source].m, share = (m + plan.ranks - 1) / plan.ranks;
  const bool divides =
      plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER || (exchanges_rows(plan) && !is_routed(plan));
  for (int64_t row = 0; row < m; ++row) {
    const bool mine =
        is_routed(plan) ? all[source].destinations[row] == rank : !divides || row / share == rank;
    if (mine) rows.push_back(static_cast<int32_t>(row));
  }
  return rows;
}

}  // namespace gpu_test
