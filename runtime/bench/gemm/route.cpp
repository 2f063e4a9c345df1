#include "runtime/bench/gemm/route.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "runtime/map/patterns.h"
#include "runtime/map/tile_map.h"

namespace tilepost::bench {
namespace {

// Divides the rows into parts in the proportion 1 : 2 : … : ranks. Each source starts at another
// part, so that all ranks get equally many rows in total, but for rounding.
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

// [ranks] The number of rows for which each rank still has room. Rows for which no rank has room
// are still given to some rank, and the operation refuses such a route.
using Room = std::vector<int64_t>;

void fit_splits(std::vector<int64_t>& splits, Room& room) {
  int64_t beyond = 0;
  for (size_t to = 0; to < splits.size(); ++to) {
    const int64_t fits = std::min(splits[to], room[to]);
    beyond += splits[to] - fits;
    splits[to] = fits, room[to] -= fits;
  }
  for (size_t to = 0; to < splits.size(); ++to) {
    const int64_t more = std::min(beyond, room[to]);
    splits[to] += more, room[to] -= more, beyond -= more;
  }
  splits[0] += beyond;
}

std::vector<int32_t> random_destinations(int64_t rows, uint64_t seed, Room& room) {
  std::mt19937_64 random(seed);
  const size_t ranks = room.size();
  std::vector<int32_t> destinations;
  for (int64_t row = 0; row < rows; ++row) {
    size_t to = random() % ranks;
    for (size_t tries = 1; tries < ranks && room[to] <= 0; ++tries) to = (to + 1) % ranks;
    --room[to];
    destinations.push_back(static_cast<int32_t>(to));
  }
  return destinations;
}

// The route of `rank` after the ranks before it have left `room`. Takes the room that the route
// needs.
BenchRoute route_into(const tilepost_plan_t& plan, int rank, uint64_t seed, Room& room) {
  BenchRoute route;
  tilepost_map_t sent = plan.map;
  sent.m = rows_of_runs(plan);
  route.rows_to.resize(room.size());
  if (plan.routing == TILEPOST_ROUTING_EVEN) {
    for (int to = 0; to < plan.ranks; ++to) route.rows_to[to] = rows_of_rank(sent, to);
  } else if (plan.routing == TILEPOST_ROUTING_SPLITS) {
    route.splits = uneven_splits(sent.m, plan.ranks, rank);
    fit_splits(route.splits, room);
    route.rows_to = route.splits;
  } else {
    route.destinations = random_destinations(sent.m, 64 * seed + static_cast<uint64_t>(rank), room);
    for (const int32_t to : route.destinations) ++route.rows_to[to];
  }
  return route;
}

}  // namespace

BenchRoute route_of(const tilepost_plan_t& plan, int rank, uint64_t seed) {
  const bool bounded = row_of(plan).input_is_routed();
  Room room(static_cast<size_t>(plan.ranks), bounded ? plan.map.m : plan.ranks * plan.map.m);
  for (int before = 0; before < rank; ++before) route_into(plan, before, seed, room);
  return route_into(plan, rank, seed, room);
}

std::vector<int64_t> rows_from(const tilepost_plan_t& plan, int rank, uint64_t seed) {
  std::vector<int64_t> rows;
  if (!row_of(plan).routes()) return rows;
  for (int source = 0; source < plan.ranks; ++source)
    rows.push_back(route_of(plan, source, seed).rows_to[rank]);
  return rows;
}

int64_t rows_multiplied(const tilepost_plan_t& plan, int rank, uint64_t seed) {
  if (!row_of(plan).input_is_routed()) return plan.map.m;
  const std::vector<int64_t> rows = rows_from(plan, rank, seed);
  return std::accumulate(rows.begin(), rows.end(), int64_t{0});
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
