#include <memory>

#include "generator/plan/verify/verify_parts.h"

namespace tilepost {
namespace {

using Run = Traffic::Run;

// Routed rows are followed one by one.
constexpr int64_t kMostRoutedRows = int64_t{1} << 20;

// A route of rank `source`: two ranks get everything, the others nothing.
std::vector<int64_t> sample_splits(const Plan& plan, int source) {
  std::vector<int64_t> splits(plan.ranks, 0);
  splits[source] += plan.map.m / 3;
  splits[(source + 1) % plan.ranks] += plan.map.m - plan.map.m / 3;
  return splits;
}

// Another one: rows go everywhere.
std::vector<int32_t> sample_destinations(const Plan& plan, int source) {
  std::vector<int32_t> destinations;
  for (int64_t row = 0; row < plan.map.m; ++row)
    destinations.push_back(static_cast<int32_t>((row * 7 + row / 5 + source) % plan.ranks));
  return destinations;
}

std::vector<std::vector<Run>> runs_of(const std::vector<int64_t>& splits) {
  std::vector<std::vector<Run>> runs;
  int64_t m = 0;
  for (const int64_t rows : splits) {
    runs.push_back({{m, rows}});
    m += rows;
  }
  return runs;
}

std::vector<std::vector<Run>> runs_of(const std::vector<int32_t>& destinations, int ranks) {
  std::vector<std::vector<Run>> runs(ranks);
  for (size_t row = 0; row < destinations.size(); ++row)
    runs[destinations[row]].push_back({static_cast<int64_t>(row), 1});
  return runs;
}

class Sample {
 public:
  Sample(const Plan& plan, TrafficMemory& memory)
      : plan_(plan), memory_(memory), exchange_(exchange_of(plan)) {}

  Traffic traffic() {
    traffic_.maps.assign(plan_.ranks, &plan_.tile_map());
    memory_.maps.reserve(plan_.ranks);  // pointed to
    if (plan_.map.stagger > 0 && plan_.routing != TILEPOST_ROUTING_SPLITS) add_orders();
    if (plan_.pattern == TILEPOST_GEMM_ALL_TO_ALL) add_routes();
    traffic_.buffer = INT64_MAX;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const TileMap& map = *traffic_.maps[rank];
      traffic_.received.push_back(received_elements(exchange_, map, rank, counts_));
      traffic_.buffer = std::min(traffic_.buffer, send_buffer_elements(exchange_, map));
      traffic_.targets.push_back(counter_targets(exchange_, map, rank));
    }
    traffic_.steps = [exchange = exchange_, counts = counts_, maps = traffic_.maps](int g,
                                                                                    int rank) {
      return steps_of(exchange, *maps[rank], g, rank, counts);
    };
    return std::move(traffic_);
  }

 private:
  void add_orders() {
    for (int rank = 1; rank < plan_.ranks; ++rank) {
      memory_.maps.push_back(build_tile_map(exchange_.map, {.rank = rank, .splits = {}}));
      traffic_.maps[rank] = &memory_.maps.back();
    }
  }

  void add_routes() {
    if (plan_.routing == TILEPOST_ROUTING_EVEN) {
      counts_ = even_counts(exchange_);
      std::vector<int64_t> shares;
      for (int rank = 0; rank < plan_.ranks; ++rank)
        shares.push_back(Geometry(plan_).rows_of(rank));
      traffic_.sent.assign(plan_.ranks, runs_of(shares));
      return;
    }
    memory_.row_maps.reserve(plan_.ranks);  // pointed to
    for (int source = 0; source < plan_.ranks; ++source) add_route(source);
  }

  void add_route(int source) {
    std::vector<int64_t> splits;
    std::vector<int32_t> destinations;
    if (plan_.routing == TILEPOST_ROUTING_SPLITS) {
      splits = sample_splits(plan_, source);
      traffic_.sent.push_back(runs_of(splits));
    } else {
      destinations = sample_destinations(plan_, source);
      traffic_.sent.push_back(runs_of(destinations, plan_.ranks));
    }
    Route route = make_route(exchange_, splits, destinations);
    if (source == 0)
      counts_ = RowCounts(plan_.ranks, static_cast<int>(route.counts.size()) / plan_.ranks);
    std::copy(route.counts.begin(), route.counts.end(), counts_.of(source).begin());
    if (plan_.map.division == TILEPOST_DIVISION_SHARES) {
      memory_.maps.push_back(build_tile_map(exchange_.map, {.rank = source, .splits = splits}));
      traffic_.maps[source] = &memory_.maps.back();
    }
    if (route.row_map.empty()) return;
    memory_.row_maps.push_back(std::move(route.row_map));
    traffic_.row_maps.push_back(memory_.row_maps.back());
  }

  const Plan& plan_;
  TrafficMemory& memory_;
  Exchange exchange_;
  RowCounts counts_;
  Traffic traffic_;
};

}  // namespace

bool can_follow(const Plan& plan) {
  const int64_t columns =
      plan.map.division == TILEPOST_DIVISION_COLUMNS ? Geometry(plan).tiles_n : int64_t{1};
  return plan.routing != TILEPOST_ROUTING_ROWS ||
         plan.map.m <= kMostRoutedRows / plan.ranks / columns;
}

Traffic traffic_of(const Plan& plan, TrafficMemory& memory) {
  return Sample(plan, memory).traffic();
}

}  // namespace tilepost
