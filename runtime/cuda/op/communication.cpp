#include "runtime/cuda/op/communication.h"

#include <algorithm>

#include "runtime/core/operands.h"
#include "runtime/cuda/consumers/hand_out.h"
#include "runtime/cuda/consumers/norm.h"
#include "runtime/cuda/consumers/pack.h"
#include "runtime/cuda/consumers/quantise.h"
#include "runtime/cuda/consumers/unpermute.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/quantised.h"
#include "runtime/map/slots.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

uint64_t nanoseconds(double seconds) {
  return static_cast<uint64_t>(seconds * 1e9);
}

// The rows of out, of a run with a consumer. Where rows are routed, they are those that arrive.
int64_t rows_to_quantise(const Run& run) {
  return run.run_map().sizes.out / run.run_map().map().n;
}

// Where the rows lie that a consumer reads. `Arguments`: those of its kernel.
template <class Arguments>
Arguments arguments_for(const Run& run) {
  const tilepost_map_t& map = run.run_map().map();
  Arguments arguments{};
  arguments.x = run.path().receives_apart() ? run.buffers.out : run.buffers.send;
  arguments.slot_rows = run.map->rows;
  arguments.height = share_rows(map);
  arguments.tile_m = map.tile_m;
  arguments.n = static_cast<int32_t>(map.n);
  arguments.tile_n = map.layout == TILEPOST_TILE ? map.tile_n : arguments.n;
  arguments.out = run.operands->out;
  return arguments;
}

}  // namespace

// ---- Waiting for a group, and posting one

// A captured run always polls, because it depends on the driver whether a stream's wait for a value
// may be captured.
tilepost_result_t GroupWaits::wait(const Run& run, int group) const {
  if (state_.traits.stream_waits && run.bank == kEager) return wait_on_stream(run, group);
  return poll(run, group);
}

tilepost_result_t GroupWaits::poll(const Run& run, int group) const {
  WaitArguments wait{};
  wait.counter = state_.bank(run.bank) + group * TILEPOST_COUNTER_STRIDE;
  wait.target = run.record->expected(group);
  wait.deadline_ns = nanoseconds(state_.traits.deadline_seconds);
  wait.page = state_.page();
  wait.on_timeout = wait_records(state_.page(), run.bank, state_.traits.most_groups) + group;
  wait.report.before = run.record->before[group];
  wait.report.target = run.record->targets[group];
  wait.report.groups = static_cast<uint32_t>(run.record->groups);
  wait.report.run = run.record->number;
  wait.progress = &state_.page()->progress[run.bank];
  wait.progress_value = progress_word(run.record->progress, group);
  TILEPOST_CUDA(launch_wait(wait, run.comm));
  return TILEPOST_OK;
}

// GEQ compares by signed distance, as epoch.h does. The write reports progress to the watchdog.
tilepost_result_t GroupWaits::wait_on_stream(const Run& run, int group) const {
  const auto address = [](const uint32_t* word) { return reinterpret_cast<CUdeviceptr>(word); };
  const uint32_t* counter = state_.bank(run.bank) + group * TILEPOST_COUNTER_STRIDE;
  TILEPOST_DRIVER(driver_.wait_value32(run.comm, address(counter), run.record->expected(group),
                                       CU_STREAM_WAIT_VALUE_GEQ));
  TILEPOST_DRIVER(driver_.write_value32(run.comm, address(&state_.page()->progress[run.bank]),
                                        progress_word(run.record->progress, group),
                                        CU_STREAM_WRITE_VALUE_DEFAULT));
  return TILEPOST_OK;
}

tilepost_result_t GroupWaits::post(const Run& run, int group) const {
  TILEPOST_CUDA(launch_post(post_of(run, group), run.comm));
  return TILEPOST_OK;
}

// The run's last post also raises the counters of groups that the run does not have. Numbers of
// runs are compared by their signed distance, so no counter may fall behind.
PostArguments GroupWaits::post_of(const Run& run, int group) const {
  PostArguments post{};
  post.counter = state_.bank(run.bank) + group * TILEPOST_COUNTER_STRIDE;
  post.value = run.record->ready;
  post.behind =
      group + 1 == run.record->groups ? state_.traits.most_groups - run.record->groups : 0;
  post.page = state_.page();
  post.progress = &state_.page()->progress[run.bank];
  post.progress_value = progress_word(run.record->progress, group);
  return post;
}

// ---- What is done on this rank alone

tilepost_result_t Consumption::load() const {
  if (plan_.consumer == TILEPOST_CONSUMER_UNPERMUTE) TILEPOST_CUDA(preload_unpermute());
  if (normalises(plan_)) TILEPOST_CUDA(preload_norm(plan_.output));
  if (plan_.consumer == TILEPOST_CONSUMER_QUANTISE) TILEPOST_CUDA(preload_quantise(plan_.output));
  const RunPath& path = paths_.overlapping;
  if (path.sorts_a) TILEPOST_CUDA(preload_pack());
  const bool rows_behind = !path.exchanges_parts && row_of(plan_).moves_input();
  if (path.whole_run && (rows_behind || moved_scales(plan_).exist()))
    TILEPOST_CUDA(preload_hand_out());
  return TILEPOST_OK;
}

tilepost_result_t Consumption::unpermute(const Run& run, int group) const {
  if (plan_.consumer != TILEPOST_CONSUMER_UNPERMUTE || plan_.map.layout != TILEPOST_TILE)
    return TILEPOST_OK;
  if (run.run_map().map().division == TILEPOST_DIVISION_COLUMNS) return unpermute_slabs(run, group);
  return unpermute_slots(run, run.run_map().tiles.groups[group]);
}

tilepost_result_t Consumption::unpermute_slots(const Run& run,
                                               const tilepost_group_t& group) const {
  if (group.num_tiles == 0) return TILEPOST_OK;
  const tilepost_map_t& map = run.run_map().map();
  const UnpermuteArguments arguments{run.buffers.send,
                                     run.operands->out,
                                     run.map->tiles,
                                     group.first_tile,
                                     group.num_tiles,
                                     static_cast<int32_t>(map.m),
                                     static_cast<int32_t>(map.n),
                                     map.tile_m,
                                     map.tile_n};
  TILEPOST_CUDA(launch_unpermute(arguments, run.comm));
  return TILEPOST_OK;
}

// A rank's rows of a sum lie in one block with the height of a full share. Routed rows lie in one
// block for each source rank.
tilepost_result_t Consumption::unpermute_slabs(const Run& run, int group) const {
  const RunMap& plan = run.run_map();
  const tilepost_map_t& map = plan.map();
  SlabArguments arguments{};
  arguments.slabs = run.buffers.out;
  arguments.out = run.operands->out;
  arguments.first = group == 0 ? 0 : map.cuts[group - 1];
  arguments.end = map.cuts[group];
  arguments.n = static_cast<int32_t>(map.n);
  arguments.tile_n = map.tile_n;
  if (row_of(plan_).routes()) {
    arguments.sources = plan_.ranks;
    for (int s = 0; s <= plan_.ranks; ++s)
      arguments.first_row[s] = static_cast<int32_t>(plan.counts.before(s, rank_));
  } else {
    arguments.sources = 1;
    arguments.height = static_cast<int32_t>(share_rows(map));
    arguments.first_row[1] = static_cast<int32_t>(rows_of_rank(map, rank_));
  }
  for (int s = 0; s < arguments.sources; ++s)
    arguments.most_rows =
        std::max(arguments.most_rows, arguments.first_row[s + 1] - arguments.first_row[s]);
  if (arguments.most_rows == 0) return TILEPOST_OK;
  TILEPOST_CUDA(launch_unpermute_slabs(arguments, run.comm));
  return TILEPOST_OK;
}

tilepost_result_t Consumption::normalise(const Run& run) const {
  if (!normalises(plan_) || !run.path().consumes) return TILEPOST_OK;
  auto norm = arguments_for<NormArguments>(run);
  norm.rows = static_cast<int32_t>(rows_of_out(plan_, run.run_map().map().m, rank_));
  norm.weight = run.operands->norm_weight;
  if (plan_.consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM)
    norm.residual = run.operands->norm_residual;
  norm.epsilon = run.operands->norm_epsilon;
  if (plan_.quantised != 0) norm.scales = run.operands->out_scales;
  norm.steps = scale_steps_of_out(plan_, norm.rows);
  if (norm.rows == 0) return TILEPOST_OK;
  TILEPOST_CUDA(launch_norm(norm, plan_.output, device_.sms, run.comm));
  return TILEPOST_OK;
}

// The steps of a group bring whole rows of out in the panel layout. They then lie row-major.
tilepost_result_t Consumption::quantise_group(const Run& run, int group) const {
  if (plan_.consumer != TILEPOST_CONSUMER_QUANTISE) return TILEPOST_OK;
  const int64_t n = run.run_map().map().n;
  for (const Step& step : run.run_map().steps[group]) {
    const bool kept = step.kind == StepKind::reduce_scatter;
    if (kept || step.kind == StepKind::all_reduce)
      TILEPOST_TRY(quantise_rows(run, step.to / n, (kept ? step.keep : step.count) / n));
  }
  return TILEPOST_OK;
}

tilepost_result_t Consumption::quantise(const Run& run) const {
  if (plan_.consumer != TILEPOST_CONSUMER_QUANTISE) return TILEPOST_OK;
  return quantise_rows(run, 0, rows_to_quantise(run));
}

tilepost_result_t Consumption::quantise_rows(const Run& run, int64_t first, int64_t rows) const {
  const int64_t all = rows_to_quantise(run);
  auto arguments = arguments_for<QuantiseArguments>(run);
  arguments.first_row = static_cast<int32_t>(first);
  arguments.rows = static_cast<int32_t>(std::min(rows, all - first));
  arguments.scales = run.operands->out_scales;
  arguments.steps = scale_steps_of_out(plan_, all);
  if (arguments.rows <= 0) return TILEPOST_OK;
  TILEPOST_CUDA(launch_quantise(arguments, plan_.output, device_.sms, run.comm));
  return TILEPOST_OK;
}

// The kernel has stored this rank's own rows where they belong. So only the rows before and after
// them are copied.
tilepost_result_t Consumption::move_landed(const Run& run, const void* landed) const {
  const bool lands = run.output.number != 0 || landed == run.operands->out;
  if (!run.path().copies_landed() || lands) return TILEPOST_OK;
  const tilepost_map_t& map = run.run_map().map();
  const RowsOfOut own = rows_in_out(plan_, map, rank_, rank_);
  const int64_t row_bytes = map.n * element_bytes(plan_.output);
  const auto copy = [&](int64_t row, int64_t rows) -> tilepost_result_t {
    if (rows == 0) return TILEPOST_OK;
    TILEPOST_CUDA(cudaMemcpyAsync(static_cast<char*>(run.operands->out) + row * row_bytes,
                                  static_cast<const char*>(landed) + row * row_bytes,
                                  static_cast<size_t>(rows * row_bytes), cudaMemcpyDeviceToDevice,
                                  run.user));
    return TILEPOST_OK;
  };
  const int64_t end = own.first + own.count;
  TILEPOST_TRY(copy(0, own.first));
  return copy(end, run.run_map().sizes.out / map.n - end);
}

// This rank's own rows are not copied if they already lie in their place in `gathered`, because the
// GEMM may still be reading them. Where the own rows do not lie with the other ranks' rows, they
// are copied from a. A kernel that exchanges rows itself stores them into `gathered`.
tilepost_result_t Consumption::hand_out_gathered(const Run& run) const {
  void* to = run.operands->gathered;
  const bool apart =
      run.path().input_arrives() && !run.path().exchanges_parts && to != run.buffers.gathered;
  if (!apart || to == nullptr) return TILEPOST_OK;
  const RunMap& plan = run.run_map();
  void* const own = static_cast<char*>(to) + plan.own.first * row_bytes_of_a();
  const bool in_place = run.buffers.a == own, all = !run.path().leaves_own_rows();
  if (all && !in_place) return copy_gathered(run, 0, plan.rows);
  TILEPOST_TRY(copy_gathered(run, 0, plan.own.first));
  if (!in_place && plan.own.count > 0)
    TILEPOST_CUDA(cudaMemcpyAsync(own, run.buffers.a,
                                  static_cast<size_t>(plan.own.count * row_bytes_of_a()),
                                  cudaMemcpyDeviceToDevice, run.comm));
  return copy_gathered(run, plan.own.first + plan.own.count, plan.rows);
}

// The scales of all rows, whether or not the caller wants the rows.
tilepost_result_t Consumption::hand_out_scales(const Run& run) const {
  const MovedScales scales = moved_scales(plan_);
  float* const to = run.operands->gathered_scales;
  const int64_t bytes = scales.bytes_of(run.run_map().rows * plan_.k);
  const float* const from = run.buffers.gathered_scales;
  if (!scales.exist() || to == nullptr || to == from || bytes == 0) return TILEPOST_OK;
  if (run.path().whole_run) {
    const tilepost_exchange_t& exchange = run.gemm.view.exchange;
    TILEPOST_CUDA(
        launch_hand_out({from, exchange.slot_bytes, exchange.run, to, 0, bytes}, run.comm));
    return TILEPOST_OK;
  }
  TILEPOST_CUDA(
      cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, run.comm));
  return TILEPOST_OK;
}

tilepost_result_t Consumption::copy_gathered(const Run& run, int64_t first_row,
                                             int64_t end_row) const {
  if (first_row >= end_row) return TILEPOST_OK;
  const int64_t from = first_row * row_bytes_of_a();
  if (run.path().whole_run) {
    const tilepost_exchange_t& exchange = run.gemm.view.exchange;
    TILEPOST_CUDA(launch_hand_out({run.buffers.gathered, exchange.slot_bytes, exchange.run,
                                   run.operands->gathered, from, end_row * row_bytes_of_a()},
                                  run.comm));
    return TILEPOST_OK;
  }
  const auto bytes = static_cast<size_t>(end_row * row_bytes_of_a() - from);
  TILEPOST_CUDA(cudaMemcpyAsync(static_cast<char*>(run.operands->gathered) + from,
                                static_cast<const char*>(run.buffers.gathered) + from, bytes,
                                cudaMemcpyDeviceToDevice, run.comm));
  return TILEPOST_OK;
}

int64_t Consumption::row_bytes_of_a() const {
  return plan_.k * element_bytes(plan_.input);
}

// ---- A run's groups

// Groups go to the lanes round robin. Groups of one lane follow each other, and lanes overlap.
// Input arrives in order on one lane, so a tile whose rows come with two groups waits only for the
// later one.
int Communication::lane_of(const Run& run, int group) const {
  const bool several = run.path().overlaps && run.path().waits == Waits::steps;
  return several ? group % std::max(1, plan_.comm_lanes) : 0;
}

// The run on a lane, with the lane's own stream and scratch memory. Where memory is shared, the
// transport has lanes of its own.
Run Communication::on_lane(const Run& run, int lane) const {
  Run mine = run;
  if (lane == 0 || transports_.shared) return mine;
  mine.comm = lanes_.stream_of(lane);
  if (run.buffers.scratch != nullptr) mine.buffers.scratch = buffers_.scratch_of(lane);
  return mine;
}

tilepost_result_t Communication::pack(const Run& run) const {
  if (!run.path().sorts_a || run.run_map().m == 0) return TILEPOST_OK;
  const PackArguments pack{run.operands->a, buffers_.packed(), run.map->order, run.run_map().m,
                           plan_.k * element_bytes(plan_.input)};
  TILEPOST_CUDA(launch_pack(pack, run.user));
  const MovedScales scales = moved_scales(plan_);
  if (!scales.exist()) return TILEPOST_OK;
  const PackArguments of_scales{run.operands->scale_a, buffers_.packed_scales(), run.map->order,
                                run.run_map().m, scales.row_bytes()};
  TILEPOST_CUDA(launch_pack(of_scales, run.user));
  return TILEPOST_OK;
}

// If the GEMM has tasks, they bring the own rows while it runs. In a run that begins beside the
// GEMM, the GEMM reads most own rows in the caller's memory. The other own rows come together with
// other ranks' rows (ArrivingGroups).
tilepost_result_t Communication::bring_own_rows(const Run& run) const {
  if (!run.input_arrives() || run.path().has_tasks) return TILEPOST_OK;
  Transport& transport = transports_.of(true);
  const int lane = lane_of(run, 0);
  if (!run.path().begins_on_comm_stream())
    return transport.communicate(run.buffers, {run.run_map().steps[0], 0, lane}, run.user);
  if (!transport.posts())
    return fail(TILEPOST_INTERNAL_ERROR,
                "nothing brings the own rows that tiles share with others'");
  TILEPOST_TRY(transport.communicate(run.buffers, {{}, 0, lane}, run.comm));
  return bring_own_scales(run);
}

// Where the GEMM reads own rows in the caller's memory, some of its tiles read own scales where
// those of all rows come together. All own scales are copied there, before anything is posted,
// because they are few.
tilepost_result_t Communication::bring_own_scales(const Run& run) const {
  const MovedScales scales = moved_scales(plan_);
  const RunMap::OwnRows& own = run.run_map().own;
  if (!scales.exist() || own.count == 0) return TILEPOST_OK;
  TILEPOST_CUDA(cudaMemcpyAsync(run.buffers.gathered_scales + own.first * scales.row,
                                run.buffers.scales + own.in_a * scales.row,
                                static_cast<size_t>(scales.bytes_of(own.count * plan_.k)),
                                cudaMemcpyDeviceToDevice, run.comm));
  return TILEPOST_OK;
}

EdgeRows Communication::edges(const Run& run) const {
  if (!run.input_arrives() || !run.path().begins_on_comm_stream()) return {};
  const std::vector<Step>& own = run.run_map().steps[0];
  return own.empty() ? EdgeRows{} : edges_of(run.run_map().map(), plan_.k, own.front());
}

// A transport that posts groups itself posts many of them with one launch, behind this rank's
// copies for the first of them. The launch also waits for copies that are issued after it. It never
// stands in front of these copies in a device queue, because nothing that precedes the launch in
// its stream waits for them. The next posting launch would stand there, since it follows this
// launch in the stream. So the next launch is issued only when everything that this launch waits
// for has been issued. Where the kernel is launched for each group, each group has a posting launch
// of its own, behind that group.
tilepost_result_t Communication::let_arrive(const Run& run, int group) const {
  Transport& transport = transports_.of(true);
  if (!transport.posts()) return waits_.post(run, group);
  const int groups = run.run_map().num_groups();
  const bool apart = run.path().waits == Waits::launches;
  const bool begins = group == std::min(1, groups - 1);
  if (!apart && !begins && (group == 0 || group % kMostArrivals != 0)) return TILEPOST_OK;
  const int first = apart || !begins ? group : 0;
  const int end = apart ? group + 1 : std::min(groups, first + kMostArrivals);
  const EdgeRows own = edges(run);
  ArrivingGroups arrivals;
  arrivals.steps = std::span(run.run_map().steps).subspan(first, end - first);
  arrivals.first = first;
  arrivals.lane = lane_of(run, group);
  if (first <= 1 && end > 1) arrivals.own_first = own.needed_first();
  if (end == groups && groups > 1) arrivals.own_last = own.needed_last();
  arrivals.stamps = timeline_.line(run, first);
  arrivals.post = waits_.post_of(run, first);
  arrivals.post.behind = waits_.post_of(run, end - 1).behind;
  return transport.arrive(run.buffers, arrivals, run.comm);
}

// Tiles wait for the groups of their own tokens alone, and nothing waits for those that no tile
// has.
tilepost_result_t Communication::await_pushed_rows(const Run& run) const {
  if (!run.path().pushes_tokens || run.operands->gathered == nullptr) return TILEPOST_OK;
  for (int group = 1; group < run.run_map().num_groups(); ++group)
    TILEPOST_CUDA(launch_wait_stored(transports_.shared->flags(), group, run.comm));
  return TILEPOST_OK;
}

tilepost_result_t Communication::finish(const Run& run) const {
  if (run.path().overlaps) TILEPOST_TRY(lanes_.join(run));
  TILEPOST_TRY(await_pushed_rows(run));
  const bool apart = run.path().overlaps && transports_.rings != nullptr;
  if (run.begun || apart) TILEPOST_TRY(transports_.overlapping->rejoin(run.comm));
  TILEPOST_TRY(consumption_.move_landed(run, buffers_.lent_out()));
  TILEPOST_TRY(consumption_.hand_out_gathered(run));
  TILEPOST_TRY(consumption_.hand_out_scales(run));
  if (!arrive_by_groups(run)) TILEPOST_TRY(consumption_.quantise(run));
  return consumption_.normalise(run);
}

// Where ranks share memory or rings, rows arrive on streams of the transport. In the tile layout no
// group has whole rows, and what is routed arrives piece by piece.
bool Communication::arrive_by_groups(const Run& run) const {
  const bool apart = run.path().overlaps && (transports_.shared || transports_.rings);
  return !apart && plan_.map.layout == TILEPOST_PANEL && row_of(plan_).sums;
}

tilepost_result_t Communication::communicate(const Run& whole, int group) const {
  const Run run = on_lane(whole, lane_of(whole, group));
  const RunPath& path = run.path();
  // Tiles that are stored in their owners' memory raise counters there. The transport waits for
  // those counters.
  const bool own_tiles = path.stores != Buffer::owners;
  if (path.overlaps && path.waits == Waits::steps && own_tiles)
    TILEPOST_TRY(waits_.wait(run, group));
  // Group 0, the own rows, is brought by bring_own_rows() already, unless tasks bring it.
  const bool brings = !run.input_arrives() || path.has_tasks || group > 0;
  // Transports that have streams of their own stamp there.
  const bool apart = path.overlaps && (transports_.shared || transports_.rings);
  const bool stamps = brings && !apart;
  if (brings) {
    if (stamps) TILEPOST_TRY(timeline_.stamp(run, group, kStepsBegin, run.comm));
    TILEPOST_TRY(transports_.of(path.overlaps)
                     .communicate(run.buffers,
                                  {run.run_map().steps[group], group, lane_of(run, group),
                                   run.map->chunks_of(group), timeline_.line(run, group)},
                                  run.comm));
  }
  if (run.input_arrives()) TILEPOST_TRY(let_arrive(run, group));
  if (stamps) TILEPOST_TRY(timeline_.stamp(run, group, kStepsEnd, run.comm));
  if (arrive_by_groups(run)) TILEPOST_TRY(consumption_.quantise_group(run, group));
  return consumption_.unpermute(run, group);
}

tilepost_result_t Communication::warm_up(const Run& run, DeviceMap& map) const {
  if (map.warm || run.path().waits != Waits::tiles || transports_.shared) return TILEPOST_OK;
  for (int g = 0; g < run.run_map().num_groups(); ++g)
    TILEPOST_TRY(transports_.of(true).communicate(
        run.buffers, {run.run_map().steps[g], g, lane_of(run, g)}, run.user));
  map.warm = true;
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
