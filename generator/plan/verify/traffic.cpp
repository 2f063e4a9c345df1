#include "generator/plan/verify/traffic.h"

#include <numeric>

namespace tilepost {
namespace {

using Run = Traffic::Run;

// The most routed rows that are followed. They are followed one by one.
constexpr int64_t kMostRoutedRows = int64_t{1} << 20;

// A route of rank `source`: two ranks get everything, the others nothing.
std::vector<int64_t> sample_splits(const Plan& plan, int source) {
  std::vector<int64_t> splits(plan.ranks, 0);
  splits[source] += plan.map.m / 3;
  splits[(source + 1) % plan.ranks] += plan.map.m - plan.map.m / 3;
  return splits;
}

// Another route of rank `source`: rows go to all ranks.
std::vector<int32_t> sample_destinations(const Plan& plan, int source) {
  std::vector<int32_t> destinations;
  for (int64_t row = 0; row < plan.map.m; ++row)
    destinations.push_back(static_cast<int32_t>((row * 7 + row / 5 + source) % plan.ranks));
  return destinations;
}

// Sample routes of rows of A: the splits of each rank. No rank receives more than `most` rows. The
// last rank receives that many, more of them from later ranks. Of what is left a rank keeps half,
// and the next ranks get the rest. The first rank gets only what fits nowhere else. Ranks send all
// of their `rows` rows as far as there is room.
std::vector<std::vector<int64_t>> sample_input_splits(int ranks, int64_t rows, int64_t most) {
  std::vector<std::vector<int64_t>> splits(ranks, std::vector<int64_t>(ranks, 0));
  std::vector<int64_t> left(ranks, rows), room(ranks, most);
  const auto send = [&](int source, int rank, int64_t wanted) {
    const int64_t sent = std::min({wanted, left[source], room[rank]});
    splits[source][rank] += sent, left[source] -= sent, room[rank] -= sent;
  };
  const int last = ranks - 1, weights = ranks * (ranks + 1) / 2;
  for (int source = 0; source < ranks; ++source) send(source, last, most / weights * (source + 1));
  for (int source = 0; source < ranks; ++source) send(source, last, rows);
  for (int source = 0; source < ranks; ++source) {
    if (source > 0) send(source, source, left[source] / 2);
    for (int distance = 1; distance <= ranks; ++distance)
      if ((source + distance) % ranks != 0) send(source, (source + distance) % ranks, rows);
    send(source, 0, rows);
  }
  return splits;
}

// Destinations that give these splits, with the rows for one rank apart from each other.
std::vector<int32_t> destinations_of(std::vector<int64_t> splits) {
  std::vector<int32_t> destinations;
  for (bool more = true; more;) {
    more = false;
    for (size_t rank = splits.size(); rank-- > 0;) {
      if (splits[rank] == 0) continue;
      --splits[rank];
      destinations.push_back(static_cast<int32_t>(rank));
      more = true;
    }
  }
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

// A smaller bound on the rows that a rank receives, which still leaves room for all rows; the
// plan's own bound if that is no larger.
int64_t less_received(const Plan& plan) {
  return std::min(plan.map.m, plan.rows_sent + plan.rows_sent / 3);
}

class Sample {
 public:
  Sample(const Plan& plan, TrafficMemory& memory, int sample)
      : plan_(plan), memory_(memory), exchange_(exchange_of(plan)), sample_(sample) {}

  Traffic traffic() {
    traffic_.maps.assign(plan_.ranks, &plan_.tile_map());
    memory_.maps.reserve(plan_.ranks);  // pointers to the maps must stay valid
    if (plan_.map.stagger > 0 && plan_.routing != TILEPOST_ROUTING_SPLITS) add_orders();
    if (row_of(plan_).input_is_routed())
      add_input_routes();
    else if (row_of(plan_).routes())
      add_routes();
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
    memory_.row_maps.reserve(plan_.ranks);  // pointers to the maps must stay valid
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

  // The splits of all ranks.
  std::vector<std::vector<int64_t>> input_splits() const {
    const int64_t rows = plan_.rows_sent, share = (rows + plan_.ranks - 1) / plan_.ranks;
    if (is_routed(plan_))
      return sample_input_splits(plan_.ranks, rows,
                                 sample_ == 0 ? plan_.map.m : less_received(plan_));
    std::vector<int64_t> splits;
    for (int rank = 0; rank < plan_.ranks; ++rank)
      splits.push_back(std::clamp<int64_t>(rows - rank * share, 0, share));
    return std::vector<std::vector<int64_t>>(plan_.ranks, splits);
  }

  void add_input_routes() {
    const std::vector<std::vector<int64_t>> splits = input_splits();
    counts_ = RowCounts(plan_.ranks, 1);
    if (!is_routed(plan_)) counts_ = even_input_counts(plan_.ranks, plan_.rows_sent);
    for (int source = 0; source < plan_.ranks; ++source) {
      if (plan_.routing == TILEPOST_ROUTING_ROWS) {
        const std::vector<int32_t> destinations = destinations_of(splits[source]);
        traffic_.sent.push_back(runs_of(destinations, plan_.ranks));
        add_counts(source, make_input_route(plan_.ranks, {}, destinations));
      } else {
        traffic_.sent.push_back(runs_of(splits[source]));
        if (is_routed(plan_)) add_counts(source, make_input_route(plan_.ranks, splits[source], {}));
      }
    }
    if (plan_.map.division == TILEPOST_DIVISION_ARRIVALS) add_input_maps(splits);
  }

  void add_counts(int source, InputRoute route) {
    std::ranges::copy(route.counts, counts_.of(source).begin());
    if (plan_.routing == TILEPOST_ROUTING_ROWS) traffic_.orders.push_back(std::move(route.order));
  }

  // Each rank receives a different number of rows, so it has a tile map of its own.
  void add_input_maps(const std::vector<std::vector<int64_t>>& splits) {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      std::vector<int64_t> received;
      for (const std::vector<int64_t>& of_source : splits) received.push_back(of_source[rank]);
      tilepost_map_t map = exchange_.map;
      map.m = std::accumulate(received.begin(), received.end(), int64_t{0});
      memory_.maps.push_back(build_tile_map(map, {.rank = rank, .splits = received}));
      traffic_.maps[rank] = &memory_.maps.back();
    }
  }

  const Plan& plan_;
  TrafficMemory& memory_;
  Exchange exchange_;
  int sample_;
  RowCounts counts_;
  Traffic traffic_;
};

}  // namespace

bool can_follow(const Plan& plan) {
  const int64_t columns =
      plan.map.division == TILEPOST_DIVISION_COLUMNS ? Geometry(plan).tiles_n : int64_t{1};
  return plan.routing != TILEPOST_ROUTING_ROWS ||
         rows_of_runs(plan) <= kMostRoutedRows / plan.ranks / columns;
}

Traffic traffic_of(const Plan& plan, TrafficMemory& memory, int sample) {
  return Sample(plan, memory, sample).traffic();
}

int num_samples(const Plan& plan) {
  const bool input = row_of(plan).input_is_routed() && is_routed(plan);
  return input && less_received(plan) < plan.map.m ? 2 : 1;
}

Contents::Contents(const Plan& plan, const TileMap& map, std::span<const int32_t> row_map) {
  const bool panel = plan.map.layout == TILEPOST_PANEL;
  for (const tilepost_tile_t& tile : map.tiles) {
    if (tile.row < 0 || (panel && tile.n != 0)) continue;
    const int64_t rows = std::min<int64_t>(plan.map.tile_m, plan.map.m - tile.m);
    if (row_map.empty()) strips_.push_back({tile.row, rows, tile.m, tile.n});
    for (int64_t m = tile.m; !row_map.empty() && m < tile.m + rows; ++m)
      strips_.push_back({int64_t{tile.row} + row_map[m], 1, m, tile.n});
  }
  std::sort(strips_.begin(), strips_.end(),
            [](const Strip& x, const Strip& y) { return x.row < y.row; });
}

const Strip* Contents::at(int64_t row) const {
  const auto after = std::upper_bound(strips_.begin(), strips_.end(), row,
                                      [](int64_t r, const Strip& strip) { return r < strip.row; });
  if (after == strips_.begin() || row >= after[-1].row + after[-1].rows) return nullptr;
  return &after[-1];
}

ContentsByRank contents_of(const Plan& plan, const Traffic& traffic) {
  ContentsByRank contents;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    const bool like_first = traffic.maps[rank] == traffic.maps[0] && traffic.row_maps.empty();
    if (rank > 0 && like_first) {
      contents.push_back(contents[0]);
      continue;
    }
    contents.push_back(std::make_shared<Contents>(
        plan, *traffic.maps[rank],
        traffic.row_maps.empty() ? std::span<const int32_t>{} : traffic.row_maps[rank]));
  }
  return contents;
}

}  // namespace tilepost
