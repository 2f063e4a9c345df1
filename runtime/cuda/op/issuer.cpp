#include "runtime/cuda/op/issuer.h"

#include "runtime/cuda/watch/waiter.h"

namespace tilepost::cuda {

tilepost_result_t RunIssuer::run_eager(Run& run, DeviceMap& map) {
  TILEPOST_TRY(wait_for_room());
  TILEPOST_TRY(follow_last_run(run.user));
  TILEPOST_TRY(orders_.follow(run, last_stream_));
  run.bank = kEager;
  run.record = &state_.ledger.next(run.run_map(), run.output.number);
  run.end = state_.tracker.end_event();
  run.begin = state_.tracker.begin_event();
  const bool shares = buffers_.uses_shared(run.path()) && !run.path().kernel_does_all;
  const bool forks_later = (run.input_arrives() || shares) && !run.path().begins_on_comm_stream();
  run.fork = forks_later ? lanes_.fork_event() : run.begin;
  TILEPOST_CUDA(cudaEventRecord(run.begin, run.user));
  if (RunBoard* board = state_.traits.board) board->say(run.record->call);
  if (const tilepost_result_t result = communication_.warm_up(run, map); result != TILEPOST_OK)
    return give_up(run, result);
  if (const tilepost_result_t result = start(run); result != TILEPOST_OK) {
    if (run.begun) return give_up(run, result);
    if (RunBoard* board = state_.traits.board) board->take_back();
    return result;
  }
  // From here on the counters will grow, or other ranks wait. So the run counts, even if it fails.
  state_.ledger.commit();
  map.last_run = run.record->number;
  if (const tilepost_result_t result = finish(run); result != TILEPOST_OK)
    return give_up(run, result);
  if (state_.failure.is_set()) return end_with_failure();
  orders_.add(run, last_stream_);
  state_.tracker.commit(run.record->number, run.ends_apart);
  watchdog_.wake();
  return TILEPOST_OK;
}

// A run without rows on any rank puts only the events on the stream by which it is watched. It
// counts as a run, so that ranks can check that all of them have called it, with equally many rows.
tilepost_result_t RunIssuer::run_nothing(cudaStream_t stream) {
  TILEPOST_TRY(wait_for_room());
  TILEPOST_TRY(follow_last_run(stream));
  const RunRecord& record = state_.ledger.next(nothing_, 0);
  TILEPOST_CUDA(cudaEventRecord(state_.tracker.begin_event(), stream));
  TILEPOST_CUDA(cudaEventRecord(state_.tracker.end_event(), stream));
  if (RunBoard* board = state_.traits.board) board->say(record.call);
  state_.ledger.commit();
  if (state_.failure.is_set()) return end_with_failure();
  state_.tracker.commit(record.number, false);
  watchdog_.wake();
  return TILEPOST_OK;
}

// Ends the operation after only a part of a run was issued, because other ranks would wait for the
// rest.
tilepost_result_t RunIssuer::give_up(const Run& run, tilepost_result_t result) {
  state_.abort(result, "rank " + std::to_string(state_.traits.rank) + ": run " +
                           std::to_string(run.record->called) + ": " + tilepost_last_error());
  // A watcher may have released all waits before this run's waits were among them.
  state_.release_waits();
  return state_.failure.report();
}

// A watcher has ended the runs during this call, perhaps because of this run. It may have released
// only the waits of earlier runs, so the waits of this run are released here. This call began
// before the failure, so it reports the failure's reason.
tilepost_result_t RunIssuer::end_with_failure() {
  state_.release_waits();
  return state_.failure.report();
}

// A captured run has counters of its own, because a graph's arguments cannot count runs. A node of
// the graph sets these counters to zero. If all work is on one stream, the kernel that counts
// replays sets them to zero, since it is there anyway. Where nothing waits they may stay.
tilepost_result_t RunIssuer::run_captured(Run& run) {
  run.bank = kCaptured;
  run.record = &state_.ledger.capture(run.run_map(), run.output.number,
                                      static_cast<size_t>(run.map->captured));
  run.fork = lanes_.captured_fork_event();
  run.end = lanes_.captured_end_event();
  const size_t words = static_cast<size_t>(run.record->groups) * TILEPOST_COUNTER_STRIDE;
  if (!run.path().whole_run && run.comm != run.user)
    TILEPOST_CUDA(cudaMemsetAsync(state_.bank(kCaptured), 0, words * sizeof(uint32_t), run.user));
  if (RunBoard* board = state_.traits.board) board->say_captured();
  TILEPOST_TRY(start(run));
  TILEPOST_TRY(finish(run));
  state_.captured = state_.captured || run.path().whole_run || counts_replays(run);
  watchdog_.wake();
  return TILEPOST_OK;
}

// Waits until the tracker has events for one more run. CUDA's own launch queue is bounded in the
// same way.
tilepost_result_t RunIssuer::wait_for_room() {
  return state_.wait_until([this] { return state_.tracker.has_room(); });
}

// Runs share counters and staging memory, so a run on another stream than the run before waits for
// that run.
tilepost_result_t RunIssuer::follow_last_run(cudaStream_t stream) {
  unsigned long long id = 0;
  TILEPOST_CUDA(cudaStreamGetId(stream, &id));
  if (id != last_stream_ && state_.tracker.last_end() != nullptr)
    TILEPOST_CUDA(cudaStreamWaitEvent(stream, state_.tracker.last_end(), 0));
  last_stream_ = id;
  return TILEPOST_OK;
}

// Does everything that can fail without consequences. Then issues the GEMM, unless the GEMM's input
// has to come first.
tilepost_result_t RunIssuer::start(Run& run) {
  timeline_.note(run);
  TILEPOST_TRY(timeline_.stamp(run, 0, kRunBegin, run.user));
  TILEPOST_TRY(gemm_.find_arguments(run));
  TILEPOST_TRY(communication_.pack(run));
  const bool beside = run.path().begins_on_comm_stream(), behind = run.path().sums_at_home;
  if (!beside && !behind) TILEPOST_TRY(begin_moving(run));
  TILEPOST_TRY(gemm_.list_tiles(run));
  if (run.fork != run.begin) TILEPOST_CUDA(cudaEventRecord(run.fork, run.user));
  if (run.comm != run.user) TILEPOST_TRY(lanes_.fork(run));
  // The replay is counted before a GEMM that may wait for other ranks.
  if (counts_replays(run) && !begins_shared(run))
    TILEPOST_CUDA(launch_replay_begin(state_.page(), replay_of(run), run.comm));
  if (beside) TILEPOST_TRY(begin_moving(run));
  if (run.gathers_first()) return TILEPOST_OK;
  TILEPOST_TRY(run.launches_groups() ? gemm_.launch_group(run, 0) : gemm_.launch(run));
  // The GEMM of such a run touches nothing that ranks share, so that they meet behind it.
  if (behind) TILEPOST_TRY(begin_moving(run));
  return gemm_.sum_tokens(run);
}

// Whether replays of the run are counted, and by another kernel than the GEMM: where something
// waits for other ranks, or a timeline says of which captured run a replay was.
bool RunIssuer::counts_replays(const Run& run) const {
  const bool watched = row_of(*state_.traits.plan).communicates() || timeline_.is_on();
  return run.bank == kCaptured && !run.path().whole_run && watched;
}

// Whether a kernel begins the run in the memory that ranks share. It counts replays too.
bool RunIssuer::begins_shared(const Run& run) const {
  return buffers_.uses_shared(run.path()) && !run.path().whole_run;
}

ReplayBeginning RunIssuer::replay_of(const Run& run) const {
  if (!counts_replays(run)) return {};
  const bool zeroes = run.comm == run.user;
  return {true, static_cast<uint32_t>(run.map->captured), state_.bank(kCaptured),
          zeroes ? static_cast<int>(run.record->groups) : 0};
}

// Begins the run, if ranks share memory and the kernel does not begin the run itself. Then brings
// the own rows that the kernel does not read in the caller's memory.
tilepost_result_t RunIssuer::begin_moving(Run& run) {
  if (begins_shared(run)) {
    TILEPOST_TRY(transports_.overlapping->begin(
        {run.map->targets, run.map->num_counters,
         transports_.shared->words_of(run.run_map(), run.output.number), replay_of(run)},
        run.path().begins_on_comm_stream() ? run.comm : run.user));
    run.begun = true;
    run.ends_apart = run.bank == kEager && !transports_.shared->ends_in_line();
  }
  return communication_.bring_own_rows(run);
}

tilepost_result_t RunIssuer::finish(const Run& run) {
  const int groups = run.path().kernel_does_all ? 0 : run.run_map().num_groups();
  for (int g = 0; g < groups; ++g) {
    const NvtxRange issuing = nvtx_.open(NvtxPart::group, g);
    TILEPOST_TRY(communication_.communicate(run, g));
    if (run.launches_groups() && g > 0) TILEPOST_TRY(launch_behind(run, g));
  }
  TILEPOST_TRY(communication_.finish(run));
  if (run.gathers_first()) TILEPOST_TRY(gemm_.launch(run));
  return end(run);
}

// The caller's stream waits until the group has come, so that no kernel waits. One event serves all
// groups, because cudaStreamWaitEvent waits for what was recorded last when it is called (CUDA
// Runtime API).
tilepost_result_t RunIssuer::launch_behind(const Run& run, int group) {
  TILEPOST_TRY(lanes_.rejoin(run));
  return gemm_.launch_group(run, group);
}

// The run ends with its last collective, or with a GEMM that reads what the collectives bring.
// After the end other ranks may store again where this run has read.
tilepost_result_t RunIssuer::end(const Run& run) {
  cudaStream_t last = run.comm;
  if (run.input_arrives()) {
    TILEPOST_TRY(lanes_.rejoin(run));
    last = run.user;
  }
  TILEPOST_TRY(gemm_.join_sums(run, last));
  TILEPOST_TRY(timeline_.stamp(run, 0, kRunEnd, last));
  const bool counts = counts_replays(run);
  if (run.begun && !run.ends_apart) TILEPOST_TRY(transports_.overlapping->end(counts, last));
  if (counts && !run.begun) TILEPOST_CUDA(launch_replay_end(state_.page(), last));
  TILEPOST_CUDA(cudaEventRecord(run.end, last));
  if (last != run.user) TILEPOST_CUDA(cudaStreamWaitEvent(run.user, run.end, 0));
  return run.ends_apart ? end_apart(run, last) : TILEPOST_OK;
}

// Announces to the other ranks that an eager run has ended, after its output is complete. The
// caller's stream need not wait for the announcement, unless a kernel that is issued later on that
// stream does (SharedService::ends_in_line). A captured run does not end like this, because all
// captured work has to return to the caller's stream.
tilepost_result_t RunIssuer::end_apart(const Run& run, cudaStream_t last) {
  if (last != lanes_.stream()) TILEPOST_CUDA(cudaStreamWaitEvent(lanes_.stream(), run.end, 0));
  TILEPOST_TRY(transports_.overlapping->end(false, lanes_.stream()));
  TILEPOST_CUDA(cudaEventRecord(state_.tracker.apart_event(), lanes_.stream()));
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
