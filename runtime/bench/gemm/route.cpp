#include "runtime/bench/gemm/route.h"

#include <random>

#include "runtime/map/patterns.h"
#include "runtime/map/tile_map.h"

namespace tilepost::bench {
namespace {

// Parts in the proportion 1 : 2 : … : ranks, turned by one from source to source, so that all ranks
// get equally much in all.
std::vector<int64_t> uneven_splits(int64_t rows, int ranks, int source) {
  const int64_t parts = int64_t{ranks} * (ranks + 1) / 2;
  std::vector<int64_t> splits;
  int64_t sum = 0, sent = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    sum += 1 + (source + rank) % ranks;
    splits.push_back(rows * sum / parts - sent);
    sent += splits.back();
  }
  return splits;
}

}  // namespace

BenchRoute route_of(const tilepost_plan_t& plan, int rank, uint64_t seed) {
  BenchRoute route;
  route.rows_to.resize(static_cast<size_t>(plan.ranks));
  if (plan.routing == TILEPOST_ROUTING_EVEN) {
    for (int to = 0; to < plan.ranks; ++to) route.rows_to[to] = rows_of_rank(plan.map, to);
  } else if (plan.routing == TILEPOST_ROUTING_SPLITS) {
    route.rows_to = route.splits = uneven_splits(plan.map.m, plan.ranks, rank);
  } else {
    std::mt19937_64 random(64 * seed + static_cast<uint64_t>(rank));
    for (int64_t row = 0; row < plan.map.m; ++row)
      route.destinations.push_back(static_cast<int32_t>(random() % plan.ranks));
    for (const int32_t to : route.destinations) ++route.rows_to[to];
  }
  return route;
}

std::vector<int64_t> rows_from(const tilepost_plan_t& plan, int rank, uint64_t seed) {
  std::vector<int64_t> rows;
  if (!row_of(plan).routes()) return rows;
  for (int source = 0; source < plan.ranks; ++source)
    rows.push_back(route_of(plan, source, seed).rows_to[rank]);
  return rows;
}

std::string route_in_words(const tilepost_plan_t& plan) {
  if (!row_of(plan).routes()) return "";
  if (plan.routing == TILEPOST_ROUTING_SPLITS)
    return "route: every rank sends parts of its rows in the proportion 1 : 2 : ... : " +
           std::to_string(plan.ranks) + ", another one to each rank";
  if (plan.routing == TILEPOST_ROUTING_ROWS)
    return "route: every row to a rank drawn at random; the sequence sorts the rows by rank in a "
           "pass of its own before it sends them";
  return "";
}

}  // namespace tilepost::bench
