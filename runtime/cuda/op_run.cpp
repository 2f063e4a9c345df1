// Putting one run on the streams.
//
// Order of the host's calls, for every device queue setting (CUDA_DEVICE_MAX_CONNECTIONS=1 too):
// the GEMM goes out before anything that waits for it, so no waiter can stand in front of it in a
// queue.
//   user stream:  [counters = 0]  begin  GEMM                                       wait(end)
//   comm stream:                  wait(begin)  { wait for group, collective, … }*   end
#include <cinttypes>
#include <thread>

#include "runtime/cuda/epoch.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/op.h"
#include "runtime/cuda/unpermute.h"
#include "runtime/cuda/waiter.h"

namespace tilepost::cuda {
namespace {

constexpr size_t kAlignment = 16;  // of matrices
constexpr std::chrono::microseconds kRoomPoll{20};

uint64_t nanoseconds(double seconds) {
  return static_cast<uint64_t>(seconds * 1e9);
}

}  // namespace

tilepost_result_t CudaOp::run(const tilepost_run_operands_t& operands, CUstream_st* stream) {
  if (state_.failure.is_set()) return state_.failure.refuse();
  if (state_.comm_aborted->load())
    return fail(TILEPOST_ABORTED,
                "the communicator was aborted by another operation; make a new one");
  const EpilogueOperands epilogue(*plan_, state_.rank, operands);
  TILEPOST_TRY(epilogue.check());
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  TILEPOST_CUDA(cudaStreamIsCapturing(stream, &capture));
  TILEPOST_TRY(check_run(operands, epilogue, stream, capture));
  Run run{};
  run.user = stream;
  run.comm = state_.transport->overlaps() ? comm_stream_.get() : stream;
  run.a = operands.a;
  run.b = operands.b;
  run.out = operands.out;
  run.epilogue = epilogue.for_kernel();
  if (capture == cudaStreamCaptureStatusInvalidated)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "the stream's capture has been invalidated by an earlier error; end it first");
  return capture == cudaStreamCaptureStatusActive ? run_captured(run) : run_eager(run);
}

// A stream that is being captured may not be asked for its device; the launch will tell.
tilepost_result_t CudaOp::check_run(const tilepost_run_operands_t& operands,
                                    const EpilogueOperands& epilogue, cudaStream_t stream,
                                    cudaStreamCaptureStatus capture) {
  const CaptureModeGuard relaxed;
  TILEPOST_TRY(check_pointer({"a", operands.a, kAlignment}));
  TILEPOST_TRY(check_pointer({"b", operands.b, kAlignment}));
  TILEPOST_TRY(check_pointer({"out", operands.out, kAlignment}));
  for (const EpilogueOperand& operand : epilogue.list()) TILEPOST_TRY(check_pointer(operand));
  if (capture != cudaStreamCaptureStatusNone) return TILEPOST_OK;
  int device = -1;
  TILEPOST_CUDA(cudaStreamGetDevice(stream, &device));
  if (device == device_.ordinal) return TILEPOST_OK;
  return fail(TILEPOST_INVALID_ARGUMENT,
              "the stream belongs to device %d, the communicator to device %d", device,
              device_.ordinal);
}

tilepost_result_t CudaOp::check_pointer(const EpilogueOperand& operand) {
  const auto& [name, pointer, alignment] = operand;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (address % alignment != 0)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s must be a multiple of %zu bytes, got 0x%" PRIxPTR ", which is %" PRIuPTR
                " bytes past one",
                name, alignment, address, address % alignment);
  for (const void* checked : checked_)
    if (checked == pointer) return TILEPOST_OK;
  cudaPointerAttributes attributes{};
  TILEPOST_CUDA(cudaPointerGetAttributes(&attributes, pointer));
  const bool managed = attributes.type == cudaMemoryTypeManaged;
  if (attributes.type != cudaMemoryTypeDevice && !managed)
    return fail(TILEPOST_INVALID_ARGUMENT, "%s must be device memory, got host memory at %p", name,
                pointer);
  if (!managed && attributes.device != device_.ordinal)
    return fail(TILEPOST_INVALID_ARGUMENT,
                "%s must be memory of the communicator's device %d, got memory of device %d", name,
                device_.ordinal, attributes.device);
  checked_[next_checked_] = pointer;
  next_checked_ = (next_checked_ + 1) % static_cast<int>(checked_.size());
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::run_eager(Run& run) {
  TILEPOST_TRY(wait_for_room());
  TILEPOST_TRY(follow_last_run(run.user));
  const uint64_t number = state_.runs + 1;
  run.bank = kEager;
  run.epoch = static_cast<uint32_t>(number);
  run.begin = state_.tracker.begin_event();
  run.end = state_.tracker.end_event();
  TILEPOST_TRY(start(run));
  // From here on the counters will grow, so the run counts whatever happens.
  state_.runs = number;
  tilepost_result_t result = communicate(run);
  if (result == TILEPOST_OK) result = join(run);
  if (result != TILEPOST_OK) {
    // Half a run: the other ranks would wait for the other half.
    state_.abort(result, "rank " + std::to_string(state_.rank) + ": run " + std::to_string(number) +
                             ": " + tilepost_last_error());
    return state_.failure.report();
  }
  state_.tracker.commit(number);
  watchdog_.wake();
  return TILEPOST_OK;
}

// A captured run has counters of its own, set to zero by a node of the graph, because a graph's
// arguments cannot count epochs. It always polls: whether a stream's wait for a value may be
// captured depends on the driver.
tilepost_result_t CudaOp::run_captured(Run& run) {
  run.bank = kCaptured;
  run.epoch = 1;
  run.begin = captured_begin_.get();
  run.end = captured_end_.get();
  TILEPOST_CUDA(cudaMemsetAsync(state_.bank(kCaptured), 0,
                                state_.counter_words() * sizeof(uint32_t), run.user));
  TILEPOST_TRY(start(run));
  TILEPOST_CUDA(launch_replay_begin(state_.record(), run.comm));
  TILEPOST_TRY(communicate(run));
  TILEPOST_CUDA(launch_replay_end(state_.record(), run.comm));
  TILEPOST_TRY(join(run));
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

tilepost_result_t CudaOp::start(const Run& run) {
  GemmArguments arguments{};
  arguments.a = run.a;
  arguments.b = run.b;
  arguments.c = send_buffer(run.out);
  arguments.epilogue = run.epilogue;
  if (plan_->kernel.launch == TILEPOST_LAUNCH_TMA)
    TILEPOST_TRY(tensor_maps_.find(run.a, run.b, arguments.c, arguments.maps));
  arguments.view.tiles = static_cast<const tilepost_tile_t*>(schedule_.tiles.get());
  arguments.view.positions = static_cast<const int32_t*>(schedule_.positions.get());
  arguments.view.counters = state_.bank(run.bank);
  arguments.view.num_tiles = static_cast<int32_t>(schedule_.map.tiles.size());
  arguments.view.tiles_n = tiles_n(plan_->map);
  TILEPOST_CUDA(cudaEventRecord(run.begin, run.user));
  TILEPOST_TRY(fork_lanes(run));
  return launch_gemm(*plan_, arguments, run.user);
}

// Groups take turns at the lanes. Within a lane they follow each other; the lanes overlap.
tilepost_result_t CudaOp::communicate(const Run& run) {
  void* buffer = send_buffer(run.out);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const int lane = static_cast<int>(i) % num_lanes();
    const Run mine = on_lane(run, lane);
    if (run.comm != run.user) TILEPOST_TRY(wait_for_group(mine, static_cast<int>(i)));
    TILEPOST_TRY(state_.transport->communicate(buffer, blocks_[i], lane, mine.comm));
    if (unpermutes()) TILEPOST_TRY(consume(mine, blocks_[i]));
  }
  return join_lanes(run);
}

CudaOp::Run CudaOp::on_lane(const Run& run, int lane) const {
  Run mine = run;
  if (lane > 0) mine.comm = more_lanes_[lane - 1].get();
  return mine;
}

tilepost_result_t CudaOp::fork_lanes(const Run& run) {
  if (run.comm != run.user) TILEPOST_CUDA(cudaStreamWaitEvent(run.comm, run.begin, 0));
  for (const Stream& lane : more_lanes_)
    TILEPOST_CUDA(cudaStreamWaitEvent(lane.get(), run.begin, 0));
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::join_lanes(const Run& run) {
  for (size_t i = 0; i < more_lanes_.size(); ++i) {
    const Event& end = lane_ends_[run.bank * more_lanes_.size() + i];
    TILEPOST_CUDA(cudaEventRecord(end.get(), more_lanes_[i].get()));
    TILEPOST_CUDA(cudaStreamWaitEvent(run.comm, end.get(), 0));
  }
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::wait_for_group(const Run& run, int group) {
  if (state_.stream_waits && run.bank == kEager) return wait_on_stream(run, group);
  return poll_for_group(run, group);
}

tilepost_result_t CudaOp::poll_for_group(const Run& run, int group) {
  WaitArguments wait{};
  wait.counter = state_.bank(run.bank) + group * TILEPOST_COUNTER_STRIDE;
  wait.target = epoch_target(run.epoch, state_.targets[group]);
  wait.epoch = run.epoch;
  wait.deadline_ns = nanoseconds(state_.deadline_seconds);
  wait.record = state_.record();
  wait.on_timeout = wait_records(state_.record(), run.bank, state_.num_groups()) + group;
  wait.progress = &state_.record()->progress[run.bank];
  wait.progress_value = progress_word(run.epoch, state_.num_groups(), group);
  TILEPOST_CUDA(launch_wait(wait, run.comm));
  return TILEPOST_OK;
}

// GEQ compares by signed distance, as epoch.h does. The write reports progress.
tilepost_result_t CudaOp::wait_on_stream(const Run& run, int group) {
  const auto address = [](const uint32_t* word) { return reinterpret_cast<CUdeviceptr>(word); };
  const uint32_t* counter = state_.bank(run.bank) + group * TILEPOST_COUNTER_STRIDE;
  TILEPOST_DRIVER(driver_.wait_value32(run.comm, address(counter),
                                       epoch_target(run.epoch, state_.targets[group]),
                                       CU_STREAM_WAIT_VALUE_GEQ));
  TILEPOST_DRIVER(driver_.write_value32(run.comm, address(&state_.record()->progress[run.bank]),
                                        progress_word(run.epoch, state_.num_groups(), group),
                                        CU_STREAM_WRITE_VALUE_DEFAULT));
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::consume(const Run& run, const tilepost_group_t& block) {
  const tilepost_map_t& map = plan_->map;
  const UnpermuteArguments arguments{staging_.get(),
                                     run.out,
                                     static_cast<const tilepost_tile_t*>(schedule_.tiles.get()),
                                     block.first_tile,
                                     block.num_tiles,
                                     static_cast<int32_t>(map.m),
                                     static_cast<int32_t>(map.n),
                                     map.tile_m,
                                     map.tile_n};
  TILEPOST_CUDA(launch_unpermute(arguments, run.comm));
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::join(const Run& run) {
  TILEPOST_CUDA(cudaEventRecord(run.end, run.comm));
  if (run.comm != run.user) TILEPOST_CUDA(cudaStreamWaitEvent(run.user, run.end, 0));
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
