#include "runtime/schedule/run_map.h"

#include <algorithm>

#include "runtime/map/fnv1a.h"
#include "runtime/map/slots.h"
#include "runtime/schedule/groups.h"
#include "tilepost/internal/expert_tiles.h"

namespace tilepost {
namespace {

// The grid of a run of m rows. How many tiles experts have is known on the device alone, and CTAs
// without a tile end at once.
int32_t ctas_for(const tilepost_plan_t& plan, int64_t m, const RunSchedule& schedule) {
  if (!row_of(plan).has_experts()) return schedule.gemm_ctas;
  const tilepost_map_t& map = plan.map;
  const int64_t rows = most_rows_in(plan, m);
  const int64_t positions = most_tile_rows(rows, plan.experts, map.tile_m) * tiles_n(map);
  return static_cast<int32_t>(std::min<int64_t>(plan.gemm_ctas, positions * plan.kernel.cluster));
}

// Sets the groups of a run. `most`: the most rows that any rank has in the run.
void set_schedule(const tilepost_plan_t& plan, int64_t most, RunMap& run) {
  run.exchange = exchange_of(plan);
  run.most = most;
  tilepost_map_t& map = run.exchange.map;
  RunSchedule schedule = schedule_for(plan, most);
  run.overlaps = schedule.overlaps;
  run.path = path_of(plan, run.overlaps);
  run.gemm_ctas = ctas_for(plan, most, schedule);
  run.cuts = std::move(schedule.cuts);
  map.division = schedule.division;
  if (map.division != TILEPOST_DIVISION_ARRIVALS) map.round_robin = 0;
  run.exchange.overlaps = run.overlaps;
  map.num_groups = static_cast<int32_t>(run.cuts.size());
  Fnv1a hash;
  for (const int64_t value : {most, int64_t{run.overlaps}, int64_t{map.division}})
    hash.mix(static_cast<uint64_t>(value));
  for (const int32_t cut : run.cuts) hash.mix(static_cast<uint64_t>(cut));
  run.schedule_hash = hash.value();
}

// Adds all ranks' counts to schedule_hash.
void hash_counts(RunMap& run) {
  Fnv1a hash;
  hash.mix(run.schedule_hash);
  for (int source = 0; source < run.counts.ranks(); ++source)
    for (const int64_t rows : run.counts.of(source)) hash.mix(static_cast<uint64_t>(rows));
  run.schedule_hash = hash.value();
}

// Builds the tile map of a run of `rows` rows. With the division by rows, a rank with fewer than
// `most` rows has nothing in the last groups.
void build(const tilepost_plan_t& plan, int64_t rows, const MapInputs& inputs, RunMap& run) {
  run.rows = rows;
  tilepost_map_t& map = run.exchange.map;
  map.m = rows;
  if (map.division == TILEPOST_DIVISION_ROWS && rows < run.most)
    for (int32_t& cut : run.cuts) cut = std::min(cut, tiles_m(map));
  map.cuts = run.cuts.data();
  run.tiles = build_tile_map(map, inputs);
  const auto m = static_cast<int32_t>(most_rows_in(plan, rows)), n = static_cast<int32_t>(map.n);
  const auto k = static_cast<int32_t>(plan.k);
  run.shape = {m,
               n,
               k,
               k,
               plan.operands == TILEPOST_NN ? n : k,
               map.layout == TILEPOST_PANEL ? n : map.tile_n};
}

// Sets the sizes of the memory that ranks share in runs of `map`, except `send`.
void set_shared_sizes(const tilepost_plan_t& plan, const tilepost_map_t& map, int64_t landed,
                      RunSizes& sizes) {
  const PatternRow& row = row_of(plan);
  const RunPath path = path_of(plan, true);
  const Slots slots = slots_of(plan, map);
  const bool pushes = path.pushes == Pushes::results;
  if (row.sums || (path.exchanges_parts && row.moves_product())) sizes.slots = slots.elements();
  if (row.product_spreads() && !pushes && !path.exchanges_parts) sizes.sums = slots.block;
  if (pushes) sizes.landed = landed;
  if (path.stores == Buffer::owners && !row.sums)
    sizes.landed = landed / map.n * stored_pitch(plan);
}

// The number of elements of `received` up to the last one that steps write, where whole shares are
// received.
int64_t end_of_steps(const RunMap& run) {
  int64_t end = 0;
  for (const std::vector<Step>& steps : run.steps)
    for (const Step& step : steps)
      if (step.kind == StepKind::reduce_scatter || step.kind == StepKind::receive)
        end = std::max(end, step.to + step.count);
  return end;
}

// The number of elements of scratch memory that the run needs. It is 0 where there is room for
// whole shares.
int64_t scratch_elements(const RunMap& run) {
  int64_t most = 0;
  if (run.path.receives_in == Memory::window) return most;
  for (const std::vector<Step>& steps : run.steps)
    for (const Step& step : steps)
      if (step.kind == StepKind::reduce_scatter && step.keep < step.count)
        most = std::max(most, step.count);
  return most;
}

void set_sizes(const tilepost_plan_t& plan, int rank, RunMap& run) {
  const PatternRow& row = row_of(plan);
  const RunPath& path = run.path;
  RunSizes& sizes = run.sizes;
  const int64_t received = received_elements(run.exchange, run.tiles, rank, run.counts);
  if (path.stores != Buffer::owners) sizes.send = send_buffer_elements(run.exchange, run.tiles);
  if (path.results == Buffer::received)
    sizes.receive = path.receives_in == Memory::window ? end_of_steps(run) : received;
  sizes.scratch = scratch_elements(run);
  if (path.shares_memory()) set_shared_sizes(plan, run.map(), received, sizes);
  sizes.out = row.dispatches() ? most_rows_in(plan, run.rows) * run.map().n : received;
  if (path.consumes)
    sizes.out = run.map().n *
                (row.routes() ? run.counts.arriving(rank) : rows_of_out(plan, run.rows, rank));
}

void set_steps(const tilepost_plan_t& plan, int rank, RunMap& run) {
  for (int g = 0; g < run.num_groups(); ++g)
    run.steps.push_back(steps_of(run.exchange, run.tiles, g, rank, run.counts));
  run.targets = counter_targets(run.exchange, run.tiles, rank);
  set_sizes(plan, rank, run);
}

// The most rows that any rank receives and multiplies.
int64_t most_arriving(const RowCounts& counts) {
  int64_t most = 1;
  for (int rank = 0; rank < counts.ranks(); ++rank) most = std::max(most, counts.arriving(rank));
  return most;
}

// Builds a run that multiplies the rows that it receives, whose numbers are `run.counts`. All ranks
// choose the groups for the rank that receives most.
void build_received(const tilepost_plan_t& plan, int rank, RunMap& run) {
  const RowCounts& counts = run.counts;
  const int64_t most = most_arriving(counts);
  set_schedule(plan, most, run);
  const std::vector<int64_t> from = counts.from_each(rank);
  build(plan, counts.arriving(rank), {.rank = rank, .splits = from}, run);
  run.own = {counts.before(rank, rank), counts.at(rank, 0, rank), counts.sent_before(rank, rank)};
}

}  // namespace

int64_t bytes_of(const RunMap& run) {
  const auto bytes = [](const auto& list) {
    return static_cast<int64_t>(list.capacity() * sizeof(list[0]));
  };
  auto sum = static_cast<int64_t>(sizeof run);
  sum += bytes(run.cuts) + bytes(run.tiles.tiles) + bytes(run.tiles.positions) +
         bytes(run.tiles.groups) + run.counts.bytes() + bytes(run.own_counts) + bytes(run.row_map) +
         bytes(run.order) + bytes(run.steps) + bytes(run.targets);
  for (const std::vector<Step>& steps : run.steps) sum += bytes(steps);
  return sum;
}

int64_t most_rows_in(const tilepost_plan_t& plan, int64_t m) {
  return row_of(plan).has_tokens() ? std::min(plan.most_rows, m * plan.top) : m;
}

int64_t rows_of_out(const tilepost_plan_t& plan, int64_t m, int rank) {
  if (row_of(plan).dispatches()) return most_rows_in(plan, m);
  if (!row_of(plan).out_is_share()) return m;
  tilepost_map_t map = plan.map;
  map.m = m;
  return rows_of_rank(map, rank);
}

std::unique_ptr<RunMap> make_run_map(const tilepost_plan_t& plan, int rank, int64_t m) {
  auto run = std::make_unique<RunMap>();
  run->m = m;
  if (row_of(plan).input_is_routed()) {
    run->counts = even_input_counts(plan.ranks, m);
    build_received(plan, rank, *run);
  } else {
    set_schedule(plan, m, *run);
    build(plan, m, {.rank = rank, .splits = {}}, *run);
    if (row_of(plan).routes()) run->counts = even_counts(run->exchange);
    if (row_of(plan).moves_input())
      run->own = {first_row_of_rank(run->map(), rank), rows_of_rank(run->map(), rank), 0};
  }
  set_steps(plan, rank, *run);
  return run;
}

bool run_overlaps(const tilepost_plan_t& plan, int64_t m) {
  if (m == 0) return false;
  const bool receives = row_of(plan).input_is_routed();
  return schedule_for(plan, receives ? most_arriving(even_input_counts(plan.ranks, m)) : m)
      .overlaps;
}

std::unique_ptr<RunMap> begin_route(const tilepost_plan_t& plan, int rank,
                                    const RouteInputs& inputs) {
  auto run = std::make_unique<RunMap>();
  run->m = inputs.rows;
  if (row_of(plan).input_is_routed()) {
    InputRoute route = make_input_route(plan.ranks, inputs.splits, inputs.destinations);
    run->own_counts = std::move(route.counts);
    run->order = std::move(route.order);
    return run;
  }
  set_schedule(plan, std::max<int64_t>(1, inputs.most), *run);  // perhaps no rank has a row
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
  if (row_of(plan).input_is_routed()) build_received(plan, rank, run);
  hash_counts(run);
  set_steps(plan, rank, run);
}

std::unique_ptr<RunMap> routed_run(const tilepost_plan_t& plan, int rank,
                                   std::span<const RouteInputs> ranks) {
  const int64_t most = std::ranges::max(ranks, {}, &RouteInputs::rows).rows;
  std::unique_ptr<RunMap> own;
  std::vector<int64_t> counts;
  for (int source = 0; source < plan.ranks; ++source) {
    RouteInputs inputs = ranks[source];
    inputs.most = most;
    std::unique_ptr<RunMap> run = begin_route(plan, source, inputs);
    counts.insert(counts.end(), run->own_counts.begin(), run->own_counts.end());
    if (source == rank) own = std::move(run);
  }
  finish_route(plan, rank, counts, *own);
  return own;
}

std::vector<int64_t> landed_rows(const RunMap& run, int rank, const RouteInputs& inputs) {
  const int ranks = run.counts.ranks();
  std::vector<int64_t> next, landed;
  for (int to = 0; to < ranks; ++to) next.push_back(run.counts.before(rank, to));
  landed.reserve(static_cast<size_t>(run.m));
  for (const int32_t to : inputs.destinations) landed.push_back(next[to]++);
  for (size_t to = 0; to < inputs.splits.size(); ++to)
    for (int64_t row = 0; row < inputs.splits[to]; ++row) landed.push_back(next[to]++);
  return landed;
}

// All sizes grow with m, because they are whole tiles of the rows, of each share, or of each split.
RunSizes most_sizes(const tilepost_plan_t& plan) {
  const tilepost_map_t& map = plan.map;
  const PatternRow& row = row_of(plan);
  const RunPaths paths = paths_of(plan);
  const int64_t width = int64_t{tiles_n(map)} * map.tile_n;
  const int64_t tiles = std::max(tiles_m(map) + map.ranks, map.ranks * share_tiles(map));
  const int64_t share = int64_t{share_tiles(map)} * map.tile_m;
  const bool window = paths.planned.receives_in == Memory::window;
  const auto any = [&](auto is) {
    return is(paths.planned) || (paths.sequence && is(*paths.sequence));
  };
  RunSizes sizes;
  if (any([](const RunPath& path) { return path.access != TILEPOST_ACCESS_WRITE; }))
    sizes.send = tiles * map.tile_m * width;
  if (row.out_is_share() && row.sums && (!window || paths.has(false)))
    sizes.scratch = share * width;
  if (paths.planned.shares_memory())
    set_shared_sizes(plan, map, map.ranks * share_rows(map) * map.n, sizes);
  if (is_routed(plan) || !any([](const RunPath& path) { return path.results == Buffer::received; }))
    return sizes;
  const int shares = row.out_is_share() ? 1 : map.ranks;
  sizes.receive = shares * (window ? share : share_rows(map)) * width;
  return sizes;
}

}  // namespace tilepost
