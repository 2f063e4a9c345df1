// What follows the GEMM in a run, or comes before it: waits and posts, steps, consumers, and how
// the streams come together again.
#include <algorithm>

#include "runtime/cuda/consumers/norm.h"
#include "runtime/cuda/consumers/unpermute.h"
#include "runtime/cuda/op/op.h"
#include "runtime/cuda/watch/waiter.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

uint64_t nanoseconds(double seconds) {
  return static_cast<uint64_t>(seconds * 1e9);
}

}  // namespace

// Groups take turns at the lanes. Within a lane they follow each other; the lanes overlap.
tilepost_result_t CudaOp::communicate(const Run& run) {
  const int groups = completes(run) ? 0 : run.plan().num_groups();
  for (int g = 0; g < groups; ++g)
    TILEPOST_TRY(communicate_group(on_lane(run, lane_of(run, g)), g));
  if (run.overlaps()) TILEPOST_TRY(join_lanes(run));
  if (run.begun) TILEPOST_TRY(state_.transports.overlapping->rejoin(run.comm));
  TILEPOST_TRY(hand_out_gathered(run));
  return normalises(*plan_) ? normalise(run) : TILEPOST_OK;
}

tilepost_result_t CudaOp::communicate_group(const Run& run, int group) {
  Transport& transport = state_.transports.of(run.overlaps());
  if (run.overlaps() && !gathers() && !writes()) TILEPOST_TRY(wait_for_group(run, group));
  // The own rows, group 0, were there before the GEMM: start(). Unless its tasks copy them.
  if (!arrives(run) || tasks(run) || group > 0)
    TILEPOST_TRY(transport.communicate(
        run.buffers,
        {run.plan().steps[group], group, lane_of(run, group), run.map->chunks_of(group)},
        run.comm));
  if (arrives(run)) TILEPOST_TRY(post_arrival(run, group));
  return unpermutes() ? unpermute(run, group) : TILEPOST_OK;
}

CudaOp::Run CudaOp::on_lane(const Run& run, int lane) const {
  Run mine = run;
  if (lane == 0 || shared() != nullptr) return mine;
  mine.comm = more_lanes_[lane - 1].get();
  if (run.buffers.scratch != nullptr)
    mine.buffers.scratch = static_cast<char*>(scratch_.get()) +
                           lane * sizes_.scratch * static_cast<int64_t>(sizeof(uint16_t));
  return mine;
}

// The rows were gathered in memory that ranks share, or in a window, and the caller wants them. Its
// own rows stay as they are if they lie in their place: the GEMM may still be reading them.
tilepost_result_t CudaOp::hand_out_gathered(const Run& run) {
  void* to = run.operands->gathered;
  const bool apart = gathers() && run.overlaps() && to != run.buffers.gathered;
  if (!apart || to == nullptr) return TILEPOST_OK;
  const tilepost_map_t& map = run.plan().map();
  const int64_t first = first_row_of_rank(map, state_.rank);
  if (run.buffers.a != static_cast<char*>(to) + first * row_bytes_of_a())
    return copy_gathered(run, 0, map.m);
  TILEPOST_TRY(copy_gathered(run, 0, first));
  return copy_gathered(run, first + rows_of_rank(map, state_.rank), map.m);
}

tilepost_result_t CudaOp::copy_gathered(const Run& run, int64_t first_row, int64_t end_row) {
  if (first_row >= end_row) return TILEPOST_OK;
  const int64_t from = first_row * row_bytes_of_a();
  const auto bytes = static_cast<size_t>(end_row * row_bytes_of_a() - from);
  TILEPOST_CUDA(cudaMemcpyAsync(static_cast<char*>(run.operands->gathered) + from,
                                static_cast<const char*>(run.buffers.gathered) + from, bytes,
                                cudaMemcpyDeviceToDevice, run.comm));
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::fork_lanes(const Run& run) {
  TILEPOST_CUDA(cudaStreamWaitEvent(run.comm, run.fork, 0));
  for (const Stream& lane : more_lanes_)
    TILEPOST_CUDA(cudaStreamWaitEvent(lane.get(), run.fork, 0));
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::join_lanes(const Run& run) {
  for (size_t i = 0; i < more_lanes_.size(); ++i) {
    const Event& end = lane_ends_[run.bank * num_lanes() + i + 1];
    TILEPOST_CUDA(cudaEventRecord(end.get(), more_lanes_[i].get()));
    TILEPOST_CUDA(cudaStreamWaitEvent(run.comm, end.get(), 0));
  }
  return TILEPOST_OK;
}

// The run ends with what ends last: its last collective, or the GEMM whose input that brings. Then
// other ranks may store again where it has read.
tilepost_result_t CudaOp::join(const Run& run) {
  cudaStream_t last = run.comm;
  if (arrives(run)) {
    const Event& end = lane_ends_[run.bank * num_lanes()];
    TILEPOST_CUDA(cudaEventRecord(end.get(), run.comm));
    TILEPOST_CUDA(cudaStreamWaitEvent(run.user, end.get(), 0));
    last = run.user;
  }
  const bool captured = run.bank == kCaptured;
  if (run.begun && captured) TILEPOST_TRY(state_.transports.overlapping->end(last));
  if (captured) TILEPOST_CUDA(launch_replay_end(state_.page(), last));
  TILEPOST_CUDA(cudaEventRecord(run.end, last));
  if (last != run.user) TILEPOST_CUDA(cudaStreamWaitEvent(run.user, run.end, 0));
  return run.begun && !captured ? end_apart(run, last) : TILEPOST_OK;
}

// The other ranks are told that an eager run has ended when its output is there already: the
// caller's stream need not wait for that. All that is captured has to come back to it.
tilepost_result_t CudaOp::end_apart(const Run& run, cudaStream_t last) {
  cudaStream_t stream = comm_stream_.get();
  if (last != stream) TILEPOST_CUDA(cudaStreamWaitEvent(stream, run.end, 0));
  return state_.transports.overlapping->end(stream);
}

tilepost_result_t CudaOp::wait_for_group(const Run& run, int group) {
  if (state_.stream_waits && run.bank == kEager) return wait_on_stream(run, group);
  return poll_for_group(run, group);
}

tilepost_result_t CudaOp::poll_for_group(const Run& run, int group) {
  WaitArguments wait{};
  wait.counter = state_.bank(run.bank) + group * TILEPOST_COUNTER_STRIDE;
  wait.target = run.facts->expected(group);
  wait.deadline_ns = nanoseconds(state_.deadline_seconds);
  wait.page = state_.page();
  wait.on_timeout = wait_records(state_.page(), run.bank, state_.most_groups) + group;
  wait.report.before = run.facts->before[group];
  wait.report.target = run.facts->targets[group];
  wait.report.groups = static_cast<uint32_t>(run.facts->groups);
  wait.report.run = run.facts->number;
  wait.progress = &state_.page()->progress[run.bank];
  wait.progress_value = progress_word(run.facts->progress, group);
  TILEPOST_CUDA(launch_wait(wait, run.comm));
  return TILEPOST_OK;
}

// GEQ compares by signed distance, as epoch.h does. The write reports progress.
tilepost_result_t CudaOp::wait_on_stream(const Run& run, int group) {
  const auto address = [](const uint32_t* word) { return reinterpret_cast<CUdeviceptr>(word); };
  const uint32_t* counter = state_.bank(run.bank) + group * TILEPOST_COUNTER_STRIDE;
  TILEPOST_DRIVER(driver_.wait_value32(run.comm, address(counter), run.facts->expected(group),
                                       CU_STREAM_WAIT_VALUE_GEQ));
  TILEPOST_DRIVER(driver_.write_value32(run.comm, address(&state_.page()->progress[run.bank]),
                                        progress_word(run.facts->progress, group),
                                        CU_STREAM_WRITE_VALUE_DEFAULT));
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::post_arrival(const Run& run, int group) {
  PostArguments post{};
  post.counter = state_.bank(run.bank) + group * TILEPOST_COUNTER_STRIDE;
  post.value = run.facts->ready;
  post.page = state_.page();
  post.progress = &state_.page()->progress[run.bank];
  post.progress_value = progress_word(run.facts->progress, group);
  TILEPOST_CUDA(launch_post(post, run.comm));
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::unpermute(const Run& run, int group) {
  if (plan_->map.layout != TILEPOST_TILE) return TILEPOST_OK;
  if (run.plan().map().division == TILEPOST_DIVISION_COLUMNS) return unpermute_slabs(run, group);
  return unpermute_slots(run, run.plan().tiles.groups[group]);
}

tilepost_result_t CudaOp::unpermute_slots(const Run& run, const tilepost_group_t& group) {
  if (group.num_tiles == 0) return TILEPOST_OK;
  const tilepost_map_t& map = run.plan().map();
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

// A rank's rows of a sum come as one block, of a full share's height; routed rows by source.
tilepost_result_t CudaOp::unpermute_slabs(const Run& run, int group) {
  const RunMap& plan = run.plan();
  const tilepost_map_t& map = plan.map();
  SlabArguments arguments{};
  arguments.slabs = run.buffers.out;
  arguments.out = run.operands->out;
  arguments.first = group == 0 ? 0 : map.cuts[group - 1];
  arguments.end = map.cuts[group];
  arguments.n = static_cast<int32_t>(map.n);
  arguments.tile_n = map.tile_n;
  if (plan_->pattern == TILEPOST_GEMM_ALL_TO_ALL) {
    arguments.sources = plan_->ranks;
    for (int s = 0; s <= plan_->ranks; ++s)
      arguments.first_row[s] = static_cast<int32_t>(plan.counts.before(s, state_.rank));
  } else {
    arguments.sources = 1;
    arguments.height = static_cast<int32_t>(share_rows(map));
    arguments.first_row[1] = static_cast<int32_t>(rows_of_rank(map, state_.rank));
  }
  for (int s = 0; s < arguments.sources; ++s)
    arguments.most_rows =
        std::max(arguments.most_rows, arguments.first_row[s + 1] - arguments.first_row[s]);
  if (arguments.most_rows == 0) return TILEPOST_OK;
  TILEPOST_CUDA(launch_unpermute_slabs(arguments, run.comm));
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::normalise(const Run& run) {
  const tilepost_map_t& map = run.plan().map();
  NormArguments norm{};
  norm.x = receives_apart(*plan_, run.overlaps()) ? run.buffers.out : run.buffers.send;
  norm.slot_rows = run.map->rows;
  norm.height = share_rows(map);
  norm.tile_m = map.tile_m;
  norm.n = static_cast<int32_t>(map.n);
  norm.tile_n = map.layout == TILEPOST_TILE ? map.tile_n : norm.n;
  norm.rows = static_cast<int32_t>(rows_of_out(*plan_, map.m, state_.rank));
  norm.weight = run.operands->norm_weight;
  if (plan_->consumer == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM)
    norm.residual = run.operands->norm_residual;
  norm.out = run.operands->out;
  norm.epsilon = run.operands->norm_epsilon;
  if (norm.rows == 0) return TILEPOST_OK;
  TILEPOST_CUDA(launch_norm(norm, plan_->output, device_.sms, run.comm));
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
