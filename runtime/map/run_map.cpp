#include "runtime/map/run_map.h"

#include <algorithm>

#include "runtime/map/groups.h"

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
  if (map.division != TILEPOST_DIVISION_ARRIVALS) map.round_robin = 0;
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

// Elements of the memory that ranks share in runs of `map`, but for `send`.
void set_shared_sizes(const tilepost_plan_t& plan, const tilepost_map_t& map, int64_t landed,
                      RunSizes& sizes) {
  const bool writes = plan.access == TILEPOST_ACCESS_WRITE;
  const int64_t blocks = writes && plan.sum == TILEPOST_SUM_ADDED ? 1 : plan.ranks;
  const bool reduces = plan.pattern == TILEPOST_GEMM_ALL_REDUCE;
  if (reduces || plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER)
    sizes.slots = blocks * slot_elements(map);
  if (reduces && !plan.pushes) sizes.sums = slot_elements(map);
  if (writes && (plan.pattern == TILEPOST_GEMM_ALL_TO_ALL || pushes_sums(plan)))
    sizes.landed = landed;
}

// How far steps receive, whole shares.
int64_t end_of_steps(const RunMap& run) {
  int64_t end = 0;
  for (const std::vector<Step>& steps : run.steps)
    for (const Step& step : steps)
      if (step.kind == StepKind::reduce_scatter || step.kind == StepKind::receive)
        end = std::max(end, step.to + step.count);
  return end;
}

void set_steps(const tilepost_plan_t& plan, int rank, RunMap& run) {
  for (int g = 0; g < run.num_groups(); ++g)
    run.steps.push_back(steps_of(run.exchange, run.tiles, g, rank, run.counts));
  const bool in_window = receives_in_windows(plan, run.overlaps);
  for (const std::vector<Step>& steps : run.steps)
    for (const Step& step : steps)
      if (!in_window && step.kind == StepKind::reduce_scatter && step.keep < step.count)
        run.sizes.scratch = std::max(run.sizes.scratch, step.count);
  run.sizes.send = send_buffer_elements(run.exchange, run.tiles);
  const int64_t received = received_elements(run.exchange, run.tiles, rank, run.counts);
  run.sizes.out = received;
  if (run.access() != TILEPOST_ACCESS_MESSAGES)
    set_shared_sizes(plan, run.map(), received, run.sizes);
  if (run.overlaps && stores_tiles(plan)) run.sizes.send = 0;
  run.targets = counter_targets(run.exchange, run.tiles, rank);
  if (receives_apart(plan, run.overlaps) && !consumes_landed(plan, run.overlaps))
    run.sizes.receive = received;
  if (in_window) run.sizes.receive = end_of_steps(run);
  if (plan.consumer == TILEPOST_CONSUMER_NONE) return;
  run.sizes.out =
      run.map().n * (plan.pattern == TILEPOST_GEMM_ALL_TO_ALL ? run.counts.arriving(rank)
                                                              : rows_of_out(plan, run.rows, rank));
}

// Whether runs send and receive out of symmetric windows.
bool uses_windows(const tilepost_plan_t& plan, bool overlaps) {
  return overlaps && plan.transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
}

// Whether runs touch other ranks' memory.
bool shares_memory(const tilepost_plan_t& plan, bool overlaps) {
  return overlaps && plan.access != TILEPOST_ACCESS_MESSAGES;
}

}  // namespace

bool stores_tiles(const tilepost_plan_t& plan) {
  return plan.access == TILEPOST_ACCESS_WRITE && plan.pattern != TILEPOST_ALL_GATHER_GEMM;
}

bool pushes_sums(const tilepost_plan_t& plan) {
  return plan.pushes != 0 && plan.pattern == TILEPOST_GEMM_ALL_REDUCE;
}

bool lends_landed(const tilepost_plan_t& plan) {
  return pushes_sums(plan) && plan.consumer == TILEPOST_CONSUMER_NONE;
}

bool consumes_landed(const tilepost_plan_t& plan, bool overlaps) {
  return overlaps && pushes_sums(plan) && plan.consumer != TILEPOST_CONSUMER_NONE;
}

bool is_routed(const tilepost_plan_t& plan) {
  return plan.pattern == TILEPOST_GEMM_ALL_TO_ALL && plan.routing != TILEPOST_ROUTING_EVEN;
}

bool has_runs(const tilepost_plan_t& plan, bool overlaps) {
  const bool planned = plan.transport != TILEPOST_TRANSPORT_NONE;
  return overlaps == planned || (planned && plan.any_m != 0 && plan.model.sequence_ctas > 0);
}

bool stores_apart(const tilepost_plan_t& plan, bool overlaps) {
  switch (plan.pattern) {
    case TILEPOST_GEMM_REDUCE_SCATTER:
    case TILEPOST_GEMM_ALL_TO_ALL:
      return true;
    case TILEPOST_GEMM_ALL_REDUCE:
      return shares_memory(plan, overlaps) || uses_windows(plan, overlaps) ||
             plan.consumer != TILEPOST_CONSUMER_NONE;
    case TILEPOST_GEMM:
    case TILEPOST_ALL_GATHER_GEMM:
      break;
  }
  return plan.consumer != TILEPOST_CONSUMER_NONE;
}

// Where ranks are summed in place, the consumer reads what the kernel has stored.
bool receives_apart(const tilepost_plan_t& plan, bool overlaps) {
  if (receives_in_windows(plan, overlaps)) return true;
  if (plan.consumer == TILEPOST_CONSUMER_NONE) return false;
  return plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER || plan.pattern == TILEPOST_GEMM_ALL_TO_ALL ||
         (plan.pattern == TILEPOST_GEMM_ALL_REDUCE && shares_memory(plan, overlaps));
}

bool receives_in_windows(const tilepost_plan_t& plan, bool overlaps) {
  return uses_windows(plan, overlaps) && !is_routed(plan) &&
         (plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER || plan.pattern == TILEPOST_GEMM_ALL_TO_ALL);
}

bool copies_out(const tilepost_plan_t& plan, bool overlaps) {
  return plan.consumer == TILEPOST_CONSUMER_NONE &&
         (receives_in_windows(plan, overlaps) ||
          (uses_windows(plan, overlaps) && plan.pattern == TILEPOST_GEMM_ALL_REDUCE));
}

bool stores_apart(const tilepost_plan_t& plan) {
  return (has_runs(plan, true) && stores_apart(plan, true)) ||
         (has_runs(plan, false) && stores_apart(plan, false));
}
bool receives_apart(const tilepost_plan_t& plan) {
  return (has_runs(plan, true) && receives_apart(plan, true)) ||
         (has_runs(plan, false) && receives_apart(plan, false));
}

bool receives_in_windows(const tilepost_plan_t& plan) {
  return receives_in_windows(plan, has_runs(plan, true));
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
  if (plan.access != TILEPOST_ACCESS_WRITE || has_runs(plan, false))
    sizes.send = tiles * map.tile_m * width;
  const bool in_window = receives_in_windows(plan);
  const int64_t share = int64_t{share_tiles(map)} * map.tile_m;
  if (plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER && (!in_window || has_runs(plan, false)))
    sizes.scratch = share * width;
  if (shares_memory(plan, has_runs(plan, true)))
    set_shared_sizes(plan, map, map.ranks * share_rows(map) * map.n, sizes);
  if (!receives_apart(plan) || consumes_landed(plan, true) || is_routed(plan)) return sizes;
  const int shares = plan.pattern == TILEPOST_GEMM_REDUCE_SCATTER ? 1 : map.ranks;
  sizes.receive = shares * (in_window ? share : share_rows(map)) * width;
  return sizes;
}

}  // namespace tilepost
