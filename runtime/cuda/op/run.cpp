// Putting one run on the streams.
//
// Order of the host's calls, for every device queue setting (CUDA_DEVICE_MAX_CONNECTIONS=1 too):
// the GEMM goes out before anything that waits for it, so no waiter can stand in front of it in a
// queue.
//   user stream:  [counters = 0]  begin  GEMM                                       wait(end)
//   comm stream:                  wait(begin)  { wait for group, collective, … }*   end
// Where the GEMM waits for its input it goes out first too; nothing that it waits for comes behind
// anything that waits for it. Its own rows it never waits for: they are copied, with all of the GPU
// to do it, before it starts; or it reads them where the caller has them, while its helper warps
// copy them (tasks, which wait for nothing), and the first post of others' rows waits for that.
//   user stream:  [counters = 0]  begin  (copy own rows)  fork  GEMM            wait(lane end)  end
//   comm stream:                         wait(fork)  { collective, post group }*      lane end
// Where ranks share memory, a run begins when all ranks have ended the one before, and says when it
// has ended: first on the user's stream, before anything is stored, and last on the communication
// stream, or, captured, on the user's (runtime/cuda/shared/flags.h). The lanes then fork behind the
// beginning. It has not ended before its GEMM where that reads what other ranks store. Where its
// helper warps do all there is to do (tasks), nothing is beside the GEMM:
//   user stream:  begin  GEMM with tasks  end
//   comm stream:                         wait(end)  say so
#include <algorithm>
#include <limits>
#include <thread>

#include "runtime/cuda/op/op.h"
#include "runtime/cuda/shared/layout.h"
#include "runtime/cuda/transport/window_memory.h"
#include "runtime/cuda/watch/waiter.h"

namespace tilepost::cuda {
namespace {

constexpr std::chrono::microseconds kRoomPoll{20};

}  // namespace

tilepost_result_t CudaOp::run(const tilepost_run_operands_t& operands, CUstream_st* stream) {
  TILEPOST_TRY(check_usable());
  const EpilogueOperands epilogue(*plan_, state_.rank, operands);
  TILEPOST_TRY(epilogue.check());
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  TILEPOST_CUDA(cudaStreamIsCapturing(stream, &capture));
  TILEPOST_TRY(check_run(operands, epilogue, stream, capture));
  const bool capturing = capture == cudaStreamCaptureStatusActive;
  DeviceMap* map = nullptr;
  TILEPOST_TRY(find_map(operands, capturing, map));
  if (operands.gathered != nullptr) TILEPOST_TRY(check_gathered(operands, *map->run));
  Run run{};
  run.map = map;
  run.user = stream;
  run.comm = run.overlaps() && !completes(run) ? comm_stream_.get() : stream;
  run.operands = &operands;
  run.buffers = buffers_of(operands, run.overlaps());
  run.epilogue = epilogue.for_kernel();
  run.epilogue.out = run.buffers.send;
  return capturing ? run_captured(run) : run_eager(run, *map);
}

tilepost_result_t CudaOp::find_map(const tilepost_run_operands_t& operands, bool capturing,
                                   DeviceMap*& map) {
  int64_t m = 0;
  TILEPOST_TRY(rows_of_run(*plan_, operands.m, rows_routed_, m));
  return maps_.find(m, capturing, map);
}

Buffers CudaOp::buffers_of(const tilepost_run_operands_t& operands, bool overlaps) const {
  Buffers buffers{};
  buffers.send = kernel_output(operands, overlaps);
  buffers.out = received_of(operands, overlaps);
  buffers.a = operands.a;
  if (gathers()) buffers.gathered = gathered_of(operands, overlaps);
  if (!receives_in_windows(*plan_, overlaps)) buffers.scratch = scratch_.get();
  buffers.reduced = stores_apart(*plan_, overlaps) ? buffers.send : operands.out;
  if (copies_out(*plan_, overlaps)) buffers.result = operands.out;
  return buffers;
}

void* CudaOp::received_of(const tilepost_run_operands_t& operands, bool overlaps) const {
  if (!receives_apart(*plan_, overlaps)) return operands.out;
  if (consumes_landed(*plan_, overlaps)) return shared()->own(shared()->layout().landed);
  return receives_in_windows(*plan_) ? windows()->received() : received_.get();
}

// A kernel that stores by owner gets tables of places, which know this operation's memory only;
// where it stores into its own slots, that is to have something for its own tensor map.
void* CudaOp::kernel_output(const tilepost_run_operands_t& operands, bool overlaps) const {
  if (stores_by_owner() && overlaps) return shared()->own(shared()->layout().slots);
  if (stores_by_owner()) return send_.get();
  if (!stores_apart(*plan_, overlaps)) return operands.out;
  if (windows() != nullptr) return windows()->send();
  return shared() != nullptr ? shared()->own(shared()->layout().send) : send_.get();
}

void* CudaOp::gathered_of(const tilepost_run_operands_t& operands, bool overlaps) const {
  if (overlaps || operands.gathered == nullptr) {
    if (shared() != nullptr) return shared()->own(shared()->layout().gathered);
    if (windows() != nullptr) return windows()->gathered();
  }
  return operands.gathered != nullptr ? operands.gathered : gathered_.get();
}

tilepost_result_t CudaOp::run_eager(Run& run, DeviceMap& map) {
  TILEPOST_TRY(wait_for_room());
  TILEPOST_TRY(follow_last_run(run.user));
  TILEPOST_TRY(follow_others(run));
  run.bank = kEager;
  run.facts = &state_.ledger.next(run.plan());
  run.end = state_.tracker.end_event();
  run.begin = state_.tracker.begin_event();
  const bool forks_later = arrives(run) || (shares(run.overlaps()) && !completes(run));
  run.fork = forks_later ? fork_.get() : run.begin;
  TILEPOST_CUDA(cudaEventRecord(run.begin, run.user));
  if (const tilepost_result_t result = warm_up_map(run, map); result != TILEPOST_OK)
    return give_up(run, result);
  if (const tilepost_result_t result = start(run); result != TILEPOST_OK)
    return run.begun ? give_up(run, result) : result;
  // From here on the counters will grow, or other ranks wait, so the run counts whatever happens.
  state_.ledger.commit();
  tilepost_result_t result = finish(run);
  if (result == TILEPOST_OK) result = let_others_follow(run);
  if (result != TILEPOST_OK) return give_up(run, result);
  state_.tracker.commit(run.facts->number);
  watchdog_.wake();
  return TILEPOST_OK;
}

// Half a run: the other ranks would wait for the other half.
tilepost_result_t CudaOp::give_up(const Run& run, tilepost_result_t result) {
  state_.abort(result, "rank " + std::to_string(state_.rank) + ": run " +
                           std::to_string(run.facts->number) + ": " + tilepost_last_error());
  // A watcher may have let everything go before this run was among it.
  state_.release_waits();
  return state_.failure.report();
}

// A captured run has counters of its own, set to zero by a node of the graph, because a graph's
// arguments cannot count runs. It always polls: whether a stream's wait for a value may be captured
// depends on the driver.
tilepost_result_t CudaOp::run_captured(Run& run) {
  run.bank = kCaptured;
  run.facts = &state_.ledger.capture(run.plan(), run.map->index);
  run.fork = captured_fork_.get();
  run.end = captured_end_.get();
  const size_t words = static_cast<size_t>(run.facts->groups) * TILEPOST_COUNTER_STRIDE;
  TILEPOST_CUDA(cudaMemsetAsync(state_.bank(kCaptured), 0, words * sizeof(uint32_t), run.user));
  TILEPOST_TRY(start(run));
  TILEPOST_TRY(finish(run));
  state_.captured = true;
  watchdog_.wake();
  return TILEPOST_OK;
}

// As many runs as the tracker has events for; CUDA's own launch queue has a bound of the same kind.
tilepost_result_t CudaOp::wait_for_room() {
  while (!state_.tracker.has_room()) {
    const tilepost_result_t result = state_.observe();
    if (result != TILEPOST_OK && result != TILEPOST_IN_PROGRESS) return state_.failure.refuse();
    if (!state_.tracker.has_room()) std::this_thread::sleep_for(kRoomPoll);
  }
  return TILEPOST_OK;
}

// Runs share counters and staging, so a run in another stream than the last one's waits for it.
tilepost_result_t CudaOp::follow_last_run(cudaStream_t stream) {
  unsigned long long id = 0;
  TILEPOST_CUDA(cudaStreamGetId(stream, &id));
  if (id != last_stream_ && state_.tracker.last_end() != nullptr)
    TILEPOST_CUDA(cudaStreamWaitEvent(stream, state_.tracker.last_end(), 0));
  last_stream_ = id;
  return TILEPOST_OK;
}

// Runs of several operations take turns: those with tasks, and all of those that share memory, for
// a run that does not overlap may have its output there.
tilepost_result_t CudaOp::follow_others(const Run& run) {
  if (tasks(run)) TILEPOST_TRY(order_->follow(run.user));
  return shared_order() != nullptr ? shared_order()->follow(run.user) : TILEPOST_OK;
}

tilepost_result_t CudaOp::let_others_follow(const Run& run) {
  if (tasks(run)) TILEPOST_TRY(order_->add(run.user));
  return shared_order() != nullptr ? shared_order()->add(run.user) : TILEPOST_OK;
}

// All that can fail without consequences, and the GEMM, unless what it reads comes first.
tilepost_result_t CudaOp::start(Run& run) {
  TILEPOST_TRY(find_arguments(run));
  if (shares(run.overlaps())) TILEPOST_TRY(begin_sharing(run));
  if (arrives(run) && !tasks(run))
    TILEPOST_TRY(state_.transports.of(true).communicate(
        run.buffers, {run.plan().steps[0], 0, lane_of(run, 0)}, run.user));
  if (run.fork != run.begin) TILEPOST_CUDA(cudaEventRecord(run.fork, run.user));
  if (run.comm != run.user) TILEPOST_TRY(fork_lanes(run));
  // Before a GEMM that may wait for other ranks.
  if (run.bank == kCaptured)
    TILEPOST_CUDA(
        launch_replay_begin(state_.page(), static_cast<uint32_t>(run.map->index), run.comm));
  return gathers() && !run.overlaps() ? TILEPOST_OK : launch(run);
}

tilepost_result_t CudaOp::begin_sharing(Run& run) {
  TILEPOST_TRY(
      state_.transports.overlapping->begin(run.map->targets, run.map->num_counters, run.user));
  run.begun = true;
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::finish(const Run& run) {
  TILEPOST_TRY(communicate(run));
  if (gathers() && !run.overlaps()) TILEPOST_TRY(launch(run));
  return join(run);
}

// A route may leave this rank without rows, and then without a kernel.
tilepost_result_t CudaOp::find_arguments(Run& run) {
  const RunMap& plan = run.plan();
  if (plan.tiles.tiles.empty()) return TILEPOST_OK;
  GemmArguments& arguments = run.gemm;
  arguments.ctas = plan.gemm_ctas;
  arguments.shape = plan.shape;
  arguments.a = gathers() ? run.buffers.gathered : run.buffers.a;
  arguments.b = run.operands->b;
  arguments.c = run.buffers.send;
  arguments.epilogue = run.epilogue;
  find_view(run, arguments.view);
  return plan_->kernel.launch == TILEPOST_LAUNCH_TMA ? find_tensor_maps(run, arguments)
                                                     : TILEPOST_OK;
}

// The own rows, where the GEMM reads them from the caller's memory, have their places among all
// rows: a tile's coordinates are the same in either map of A. The rows in front of them are nowhere
// and never asked for, because a tile that reads through this map begins with an own row. What it
// has behind them is filled with zeros (CUDA driver API, cuTensorMapEncodeTiled), and lies behind
// all rows: other ranks' rows come through the other map.
tilepost_result_t CudaOp::find_tensor_maps(const Run& run, GemmArguments& arguments) {
  const RunMap& plan = run.plan();
  const int64_t c_rows = plan.tiles.send_elements / plan.shape.ldc;
  int64_t a_rows = plan.rows;
  if (reads_own_rows(run)) {
    const int64_t first = first_row_of_rank(plan.map(), state_.rank);
    const auto own = reinterpret_cast<uintptr_t>(run.buffers.a);
    arguments.a = reinterpret_cast<const void*>(own - static_cast<uintptr_t>(first) *
                                                          static_cast<uintptr_t>(row_bytes_of_a()));
    // A map has at least a row; no tile is of a rank without rows.
    a_rows = std::max<int64_t>(1, first + rows_of_rank(plan.map(), state_.rank));
  }
  return tensor_maps_.find({arguments.a, arguments.b, arguments.c, a_rows, c_rows}, arguments.maps);
}

void CudaOp::find_view(const Run& run, tilepost_view_t& view) {
  const RunMap& plan = run.plan();
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
  view.ready = run.facts->ready;
  view.in_map = run.map->in_map;
  if (tasks(run)) find_tasks(run, view.tasks);
  if (!stores_by_owner()) return;
  // In sequence all tiles have one owner, who is this rank.
  if (!run.overlaps()) view.share_rows = std::numeric_limits<int32_t>::max();
  view.rank = state_.rank;
  if (run.overlaps()) view.pace = plan_->pace;
  view.out_maps = run.map->out_maps;
  view.peer_counters = run.map->peer_counters;
  view.peer_out = run.map->peer_out;
}

void CudaOp::find_tasks(const Run& run, tilepost_tasks_t& tasks) {
  tasks = state_.transports.shared->tasks();
  tasks.list = run.map->tasks;
  tasks.count = run.map->num_tasks;
  tasks.out = gathers() ? run.buffers.gathered : run.buffers.out;
  if (gathers()) tasks.in = run.buffers.a;
  tasks.there = run.map->there;
  tasks.raise = run.map->peer_counters;
}

tilepost_result_t CudaOp::launch(const Run& run) {
  if (run.plan().tiles.tiles.empty()) return TILEPOST_OK;
  return launch_gemm(*plan_, run.gemm, run.user);
}

}  // namespace tilepost::cuda
