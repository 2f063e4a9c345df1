#include "runtime/map/run_map.h"

#include <algorithm>

#include "tilepost/groups.h"

namespace tilepost {
namespace {

// The groups of runs of which the longest on any rank has `most` rows.
void set_schedule(const tilepost_plan_t& plan, int64_t most, RunMap& run) {
  run.exchange = exchange_of(plan);
  run.most = most;
  tilepost_map_t& map = run.exchange.map;
  RunSchedule schedule = schedule_for(plan, most);
  run.overlaps = schedule.overlaps;
  run.gemm_ctas = schedule.gemm_ctas;
  run.cuts = std::move(schedule.cuts);
  map.division = schedule.division;
  run.exchange.overlaps = run.overlaps;
  map.num_groups = static_cast<int32_t>(run.cuts.size());
}

// Where rows are divided as they are, a rank with fewer than `most` has nothing in the last groups.
void build(const tilepost_plan_t& plan, int64_t rows, const MapInputs& inputs, RunMap& run) {
  run.rows = rows;
  tilepost_map_t& map = run.exchange.map;
  map.m = rows;
  if (map.division == TILEPOST_DIVISION_ROWS && rows < run.most)
    for (int32_t& cut : run.cuts) cut = std::min(cut, tiles_m(map));
  map.cuts = run.cuts.data();
  run.tiles = build_tile_map(map, inputs);
  const auto m = static_cast<int32_t>(map.m), n = static_cast<int32_t>(map.n);
  const auto k = static_cast<int32_t>(plan.k);
  run.shape = {m,
               n,
               k,
               k,
               plan.operands == TILEPOST_NN ? n : k,
               map.layout == TILEPOST_PANEL ? n : map.tile_n};
}

void set_steps(const tilepost_plan_t& plan, int rank, RunMap& run) {
  for (int g = 0; g < run.num_groups(); ++g)
    run.steps.push_back(steps_of(run.exchange, run.tiles, g, rank, run.counts));
  for (const std::vector<Step>& steps : run.steps)
    for (const Step& step : steps)
      if (step.kind == StepKind::reduce_scatter && step.keep < step.count)
        run.sizes.landing = std::max(run.sizes.landing, step.count);
  run.sizes.send = send_buffer_elements(run.exchange, run.tiles);
  const int64_t received = received_elements(run.exchange, run.tiles, rank, run.counts);
  run.sizes.out = received;
  if (plan.consumer == TILEPOST_CONSUMER_NONE) return;
  if (receives_apart(plan)) run.sizes.receive = received;
  run.sizes.out =
      run.map().n * (plan.pattern == TILEPOST_GEMM_ALL_TO_ALL ? run.counts.arriving(rank)
                                                              : rows_of_out(plan, run.rows, rank));
}

}  // namespace

bool is_routed(const tilepost_plan_t& plan) {
  return plan.pattern == TILEPOST_GEMM_ALL_TO_ALL && plan.routing != TILEPOST_ROUTING_EVEN;
}

bool stores_apart(const tilepost_plan_t& plan) {
  return plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER || plan.pattern == TILEPOST_GEMM_ALL_TO_ALL ||
         plan.consumer != TILEPOST_CONSUMER_NONE;
}

bool receives_apart(const tilepost_plan_t& plan) {
  return plan.consumer != TILEPOST_CONSUMER_NONE &&
         (plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER || plan.pattern == TILEPOST_GEMM_ALL_TO_ALL);
}

int64_t rows_of_out(const tilepost_plan_t& plan, int64_t m, int rank) {
  if (plan.pattern != TILEPOST_GEMM_REDUCE_SCATTER) return m;
  tilepost_map_t map = plan.map;
  map.m = m;
  return rows_of_rank(map, rank);
}

std::unique_ptr<RunMap> make_run_map(const tilepost_plan_t& plan, int rank, int64_t m) {
  auto run = std::make_unique<RunMap>();
  set_schedule(plan, m, *run);
  build(plan, m, {.rank = rank, .splits = {}}, *run);
  if (plan.pattern == TILEPOST_GEMM_ALL_TO_ALL) run->counts = even_counts(run->exchange);
  set_steps(plan, rank, *run);
  return run;
}

std::unique_ptr<RunMap> begin_route(const tilepost_plan_t& plan, int rank,
                                    const RouteInputs& inputs) {
  auto run = std::make_unique<RunMap>();
  set_schedule(plan, std::max<int64_t>(1, inputs.most), *run);  // no rank may have any row
  const bool shares = run->map().division == TILEPOST_DIVISION_SHARES;
  build(plan, inputs.rows,
        {.rank = rank, .splits = shares ? inputs.splits : std::span<const int64_t>{}}, *run);
  Route route = make_route(run->exchange, inputs.splits, inputs.destinations);
  run->own_counts = std::move(route.counts);
  run->row_map = std::move(route.row_map);
  return run;
}

void finish_route(const tilepost_plan_t& plan, int rank, std::span<const int64_t> all_counts,
                  RunMap& run) {
  const size_t length = run.own_counts.size();
  run.counts = RowCounts(plan.ranks, static_cast<int>(length) / plan.ranks);
  for (int source = 0; source < plan.ranks; ++source) {
    const auto counts = all_counts.subspan(source * length, length);
    std::ranges::copy(counts, run.counts.of(source).begin());
  }
  set_steps(plan, rank, run);
}

std::vector<int64_t> landed_rows(const RunMap& run, int rank, const RouteInputs& inputs) {
  const int ranks = run.counts.ranks();
  std::vector<int64_t> next, landed;
  for (int to = 0; to < ranks; ++to) next.push_back(run.counts.before(rank, to));
  landed.reserve(static_cast<size_t>(run.rows));
  for (const int32_t to : inputs.destinations) landed.push_back(next[to]++);
  for (size_t to = 0; to < inputs.splits.size(); ++to)
    for (int64_t row = 0; row < inputs.splits[to]; ++row) landed.push_back(next[to]++);
  return landed;
}

std::vector<int64_t> rows_from(const RunMap& run, int rank) {
  std::vector<int64_t> rows;
  rows.reserve(run.counts.ranks());
  for (int source = 0; source < run.counts.ranks(); ++source)
    rows.push_back(run.counts.sum(source, rank));
  return rows;
}

// All of these grow with m: whole tiles of the rows, of each share, or of each split.
RunSizes most_sizes(const tilepost_plan_t& plan) {
  const tilepost_map_t& map = plan.map;
  const int64_t width = int64_t{tiles_n(map)} * map.tile_n;
  const int64_t tiles = std::max(tiles_m(map) + map.ranks, map.ranks * share_tiles(map));
  RunSizes sizes;
  sizes.send = tiles * map.tile_m * width;
  if (plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER)
    sizes.landing = int64_t{share_tiles(map)} * map.tile_m * width;
  if (!receives_apart(plan) || is_routed(plan)) return sizes;
  const int shares = plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER ? 1 : map.ranks;
  sizes.receive = shares * share_rows(map) * width;
  return sizes;
}

}  // namespace tilepost
