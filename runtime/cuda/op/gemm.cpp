#include "runtime/cuda/op/gemm.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <limits>

#include "runtime/core/routing/routing.h"
#include "runtime/cuda/op/tokens/rows_bound.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/slots.h"
#include "runtime/map/tile_map.h"
#include "runtime/schedule/groups.h"
#include "runtime/schedule/token_groups.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {

namespace {

// Whether there is a kernel to launch. A rank without rows has nothing to compute, but its helper
// warps may have rows of other ranks to move.
bool has_work(const Run& run) {
  return !run.run_map().tiles.tiles.empty() || run.map->num_tasks > 0;
}

int64_t bytes_of_row(const tilepost_plan_t& plan) {  // bytes of a row in an output without gaps
  return plan.map.n * element_bytes(plan.output);
}

tilepost_norm_t norm_of(const tilepost_plan_t& plan, const tilepost_run_operands_t& operands) {
  const bool keeps = plan.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  return {operands.norm_weight, keeps ? operands.norm_residual : nullptr, operands.norm_epsilon};
}

}  // namespace

tilepost_result_t Gemm::find_arguments(Run& run) {
  const RunMap& plan = run.run_map();
  if (!has_work(run)) return TILEPOST_OK;
  GemmArguments& arguments = run.gemm;
  arguments.ctas =
      plan_.kernel.tile_per_cta ? static_cast<int32_t>(plan.tiles.tiles.size()) : plan.gemm_ctas;
  arguments.shape = plan.shape;
  arguments.a = run.path().reads == InputFrom::a ? run.buffers.a : run.buffers.gathered;
  arguments.b = run.operands->b;
  arguments.c = run.buffers.send;
  arguments.epilogue = run.epilogue;
  find_view(run, arguments.view);
  if (run.path().lists_tiles || run.path().combines) TILEPOST_TRY(find_tokens(run, arguments.view));
  if (run.path().combines) summing_.find_products(arguments);
  if (moved_scales(plan_).exist()) find_scales(run, arguments);
  // A tensor map that the kernel stores with has at least one row.
  arguments.out_rows = std::max<int64_t>(1, run.path().lists_tiles || run.path().combines
                                                ? plan.shape.m
                                                : plan.tiles.send_elements / plan.shape.ldc);
  if (run.path().is_fused) {
    find_own_rows(run, arguments);
    TILEPOST_TRY(find_pushes(run, arguments.view));
  }
  arguments.user = run.operands->user;
  return plan_.kernel.launch == TILEPOST_LAUNCH_TMA ? find_tensor_maps(run, arguments)
                                                    : TILEPOST_OK;
}

// Where the kernel reads own rows in the caller's memory, it reads their scales there too. They
// then have their places among those of all rows, as place_own_rows() says of rows.
void Gemm::find_scales(const Run& run, GemmArguments& arguments) const {
  const Buffers& buffers = run.buffers;
  if (run.path().reads != InputFrom::split) {
    arguments.epilogue.scale_a = buffers.gathered_scales;
    return;
  }
  const RunMap::OwnRows& own = run.run_map().own;
  const int64_t before = moved_scales(plan_).bytes_of((own.first - own.in_a) * plan_.k);
  arguments.epilogue.scale_a = reinterpret_cast<const float*>(
      reinterpret_cast<uintptr_t>(buffers.scales) - static_cast<uintptr_t>(before));
  arguments.view.in_scales = buffers.gathered_scales;
}

// The kernel stores this rank's finished tiles by its own tensor map of C. A rank without rows
// stores no tiles, and may have no output.
void Gemm::find_own_rows(const Run& run, GemmArguments& arguments) const {
  const tilepost_map_t& map = run.run_map().map();
  const RowsOfOut own = rows_in_out(plan_, map, state_.traits.rank, state_.traits.rank);
  if (own.count > 0)
    arguments.c = static_cast<char*>(run.buffers.out) + own.first * bytes_of_row(plan_);
  arguments.out_rows = std::max<int64_t>(1, own.count);
}

// The tiles that this rank finishes for another rank go to that rank's registered output, or to its
// landed memory. The tensor maps are parameters of the kernel and not in tables. For an output may
// be registered at any time, but tables are made when m is used first. No tile goes to a rank that
// has no rows.
tilepost_result_t Gemm::find_pushes(const Run& run, tilepost_view_t& view) const {
  if (run.path().pushes != Pushes::results) return TILEPOST_OK;
  const SharedRegions& shared = transports_.shared->regions();
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    const RowsOfOut rows = rows_in_out(plan_, run.run_map().map(), state_.traits.rank, rank);
    if (rows.count == 0) continue;
    const void* const out =
        run.output.number != 0 ? run.output.places[rank] : shared.of(rank, shared.layout().landed);
    CUtensorMap map{};
    TILEPOST_TRY(encode_output(driver_, plan_,
                               static_cast<const char*>(out) + rows.first * bytes_of_row(plan_),
                               rows.count, 0, map));
    static_assert(sizeof map == sizeof view.push_maps[rank]);
    std::memcpy(&view.push_maps[rank], &map, sizeof map);
  }
  return TILEPOST_OK;
}

// Where the GEMM reads the own rows from the caller's memory, these rows have their places among
// all rows, so that a tile's coordinates are the same in both tensor maps of A. The map of the own
// rows then begins in front of the caller's memory. Nothing there is ever loaded, because a tile
// that reads through this map begins with an own row. Where such a tile reaches beyond the own rows
// it gets zeros (CUDA driver API, cuTensorMapEncodeTiled). The zeros lie beyond all rows, because
// tiles with rows of other ranks use the other map.
tilepost_result_t Gemm::place_own_rows(const Run& run, const void*& first_row) const {
  const RunMap::OwnRows& own = run.run_map().own;
  const auto address = reinterpret_cast<uintptr_t>(run.buffers.a);
  const int64_t before = (own.first - own.in_a) * plan_.k * element_bytes(plan_.input);
  if (before > 0 && static_cast<uintptr_t>(before) > address)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "a is at 0x%" PRIxPTR ", and the kernel counts its rows from %" PRId64
                " bytes before it, where other ranks' rows would be: that is below address 0; "
                "allocate a at a higher address, with cudaMalloc say",
                address, before);
  first_row = reinterpret_cast<const void*>(address - static_cast<uintptr_t>(before));
  return TILEPOST_OK;
}

tilepost_result_t Gemm::find_tensor_maps(const Run& run, GemmArguments& arguments) {
  const RunMap& plan = run.run_map();
  // A tensor map must have at least one row. A rank without rows has no tiles, so its map is not
  // used.
  int64_t a_rows = std::max<int64_t>(1, run.path().combines ? plan.shape.m : plan.rows);
  if (run.path().reads == InputFrom::split) {
    TILEPOST_TRY(place_own_rows(run, arguments.a));
    a_rows = std::max<int64_t>(1, plan.own.first + plan.own.count);
  }
  return tensor_maps_.find({arguments.a, arguments.b, arguments.c, a_rows, arguments.out_rows},
                           arguments.maps);
}

void Gemm::find_view(const Run& run, tilepost_view_t& view) const {
  const RunMap& plan = run.run_map();
  const tilepost_map_t& map = plan.map();
  view.tiles = run.map->tiles;
  view.positions = run.map->positions;
  view.counters = state_.bank(run.bank);
  view.row_map = run.map->row_map;
  view.num_tiles = static_cast<int32_t>(plan.tiles.tiles.size());
  view.tiles_n = tiles_n(map);
  if (map.division == TILEPOST_DIVISION_SHARES) {
    view.share_rows = static_cast<int32_t>(share_rows(map));
    view.share_tiles = share_tiles(map);
  }
  view.ready = run.record->ready;
  view.in_map = run.map->in_map;
  view.experts = plan_.experts;
  view.expert_ends = run.operands->expert_ends;
  if (run.path().has_tasks) find_tasks(run, view.tasks);
  if (run.path().pushes_tokens) view.tasks = transports_.shared->tasks();  // what tiles wait for
  if (run.path().whole_run) find_exchange(run, view.exchange);
  if (run.path().stores_by_owner) find_owners(run, view);
}

tilepost_result_t Gemm::find_tokens(const Run& run, tilepost_view_t& view) const {
  tilepost_routing_info_t tables{};
  routing_->get_info(tables);
  view.expert_ends = tables.expert_ends;
  view.row_tokens = tables.row_tokens;
  view.token_tiles = static_cast<const tilepost_token_tile_t*>(buffers_.token_list());
  view.most_tokens = routing_->shape().most_tokens;
  view.token_rows = token_rows(plan_, run.run_map().m);
  view.rank = state_.traits.rank;
  view.all_tokens = view.own_tokens = run.buffers.gathered;
  const bool split = run.path().reads == InputFrom::split;
  return split ? place_own_rows(run, view.own_tokens) : TILEPOST_OK;
}

tilepost_result_t Gemm::load() {
  if (paths_of(plan_).planned.lists_tiles) TILEPOST_CUDA(preload_token_list());
  return summing_.create();
}

tilepost_result_t Gemm::list_tiles(const Run& run) const {
  if (!run.path().lists_tiles) return TILEPOST_OK;
  const RunMap& plan = run.run_map();
  const tilepost_view_t& view = run.gemm.view;
  TokenListArguments list{};
  list.expert_ends = view.expert_ends;
  list.row_tokens = view.row_tokens;
  list.experts = plan_.experts;
  list.m = plan.shape.m;
  list.tile_m = plan_.map.tile_m;
  // The same for all runs: the word behind the entries is kept from one run to the next.
  list.most = static_cast<int>(most_tile_rows(plan_.most_rows, plan_.experts, plan_.map.tile_m));
  list.groups = token_groups(plan_, plan, state_.traits.rank, view.most_tokens);
  list.bound = rows_bound(plan_, *routing_, state_);
  list.memory = buffers_.token_list();
  if (run.path().pushes_tokens) list.pushes = pushes_of(run);
  TILEPOST_CUDA(launch_token_list(list, plan_.sms, run.user));
  return TILEPOST_OK;
}

RowPushes Gemm::pushes_of(const Run& run) const {
  const SharedFlags& flags = transports_.shared->flags();
  RowPushes pushes{};
  pushes.a = run.buffers.a;
  pushes.there = run.map->there;
  pushes.raise = run.map->peer_counters;
  pushes.given_up = flags.given_up;
  pushes.rank = flags.rank;
  pushes.ranks = flags.ranks;
  find_pushed_rows(plan_, run.run_map(), pushes);
  return pushes;
}

// In a run in sequence this rank owns all tiles.
void Gemm::find_owners(const Run& run, tilepost_view_t& view) const {
  if (run.path().overlaps)
    view.pace = plan_.pace;
  else
    view.share_rows = std::numeric_limits<int32_t>::max();
  view.rank = state_.traits.rank;
  view.out_maps = run.map->out_maps;
  view.peer_counters = run.map->peer_counters;
  view.peer_out = run.map->peer_out;
  view.source_maps = run.map->source_maps;
}

void Gemm::find_tasks(const Run& run, tilepost_tasks_t& tasks) const {
  tasks = transports_.shared->tasks();
  tasks.list = run.map->tasks;
  tasks.count = run.map->num_tasks;
  tasks.last = run.map->last_task;
  const bool spreads = run.path().reads == InputFrom::split;
  tasks.out = spreads ? run.buffers.gathered : run.buffers.out;
  if (spreads) tasks.in = run.buffers.a;
  tasks.there = run.output.number != 0 ? run.output.there : run.map->there;
  tasks.raise = run.map->peer_counters;
}

// A kernel that is a whole run counts replays itself. In other runs small kernels before and after
// the GEMM count them (RunIssuer::replay_of).
void Gemm::find_exchange(const Run& run, tilepost_exchange_t& exchange) const {
  const RunMap& plan = run.run_map();
  transports_.shared->set_exchange(exchange);
  const RunWords words = transports_.shared->words_of(plan, run.output.number);
  exchange.words[0] = words.m;
  exchange.words[1] = words.schedule;
  exchange.words[2] = words.plan;
  exchange.words[3] = words.output;
  exchange.targets = run.map->targets;
  // Fused kernels have flags and no counters.
  exchange.num_targets = run.path().is_fused ? 0 : run.map->num_counters;
  exchange.slot_maps = run.map->out_maps;
  exchange.there = run.output.number != 0 ? run.output.there : run.map->there;
  exchange.out = run.buffers.out;
  exchange.rows = plan.shape.m;
  exchange.share_rows = static_cast<int32_t>(share_rows(plan.map()));
  if (row_of(plan_).moves_input()) {
    exchange.own_rows = run.buffers.a;
    exchange.gathered = run.operands->gathered;
    exchange.part_units = units_of_part(plan_, run.run_map().m);
  }
  if (run.path().normalises) exchange.norm = norm_of(plan_, *run.operands);
  if (run.bank != kCaptured) return;
  exchange.replays = &state_.page()->replays_begun;
  exchange.replayed = static_cast<uint32_t>(run.map->captured);
}

tilepost_result_t Gemm::launch(const Run& run) const {
  if (!has_work(run)) return TILEPOST_OK;
  const NvtxRange launching = nvtx_.open(NvtxPart::gemm, run.gemm.view.num_tiles);
  return launch_gemm(plan_, run.gemm, run.user);
}

// A group is consecutive positions of the schedule, and each launch counts positions from 0. That
// is right because no place is looked up by position here, unlike for shares and routed products:
// the output is in order.
tilepost_result_t Gemm::launch_group(const Run& run, int group) const {
  const tilepost_group_t& tiles = run.run_map().tiles.groups[group];
  if (tiles.num_tiles == 0) return TILEPOST_OK;
  GemmArguments arguments = run.gemm;
  arguments.ctas = launch_ctas(plan_, arguments.ctas, tiles.num_tiles);
  arguments.view.tiles += tiles.first_tile;
  arguments.view.num_tiles = tiles.num_tiles;
  const NvtxRange launching = nvtx_.open(NvtxPart::gemm, tiles.num_tiles);
  return launch_gemm(plan_, arguments, run.user);
}

}  // namespace tilepost::cuda
