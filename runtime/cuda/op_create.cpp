// Making an operation. Everything that waits for other ranks comes where all ranks come, or all do
// not: what depends only on the program first, then the communicator, then what can fail on one
// rank alone, and a bounded wait last.
#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "runtime/cuda/environment.h"
#include "runtime/cuda/launch.h"
#include "runtime/cuda/op.h"
#include "runtime/cuda/select.h"
#include "runtime/cuda/unpermute.h"
#include "runtime/cuda/waiter.h"

namespace tilepost::cuda {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::microseconds kWarmUpPoll{100};

}  // namespace

tilepost_result_t CudaOp::create(CudaComm& comm) {
  TILEPOST_TRY(read_device(comm.device(), device_));
  TILEPOST_TRY(select_plan(program_, device_, plan_));
  TILEPOST_TRY(check_plan(program_, *plan_, device_, comm.world()));
  TILEPOST_TRY(make_transport(comm, *plan_, state_.transport));
  warnings_ = plan_warnings(*plan_, device_) + environment_warnings(*plan_);
  TILEPOST_TRY(load_driver(driver_));
  TILEPOST_TRY(make_schedule(program_.name, *plan_, schedule_));
  TILEPOST_TRY(make_streams());
  TILEPOST_TRY(allocate(comm));
  TILEPOST_TRY(load_kernels());
  TILEPOST_TRY(warm_up());
  watchdog_.start(state_);
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::allocate(const CudaComm& comm) {
  const TileMap& map = schedule_.map;
  state_.device = comm.device();
  state_.rank = comm.rank();
  state_.deadline_seconds = options_.deadline_seconds;
  state_.comm_aborted = comm.aborted();
  state_.stream_waits = plan_->wait == TILEPOST_WAIT_STREAM;
  for (const tilepost_group_t& group : map.groups) state_.targets.push_back(group.target);
  if (state_.transport->overlaps())
    blocks_ = map.groups;
  else
    blocks_ = {{0, static_cast<int32_t>(map.tiles.size()), 0, 0, map.send_elements}};
  tensor_maps_.init(*plan_, driver_, map.send_elements);

  const size_t counter_bytes = kBanks * state_.counter_words() * sizeof(uint32_t);
  TILEPOST_TRY(make_device_memory(state_.counters, counter_bytes));
  TILEPOST_CUDA(cudaMemsetAsync(state_.counters.get(), 0, counter_bytes, comm_stream_.get()));
  schedule_.device_bytes += static_cast<int64_t>(counter_bytes);
  TILEPOST_TRY(make_pinned_memory(state_.record_memory, record_bytes(state_.num_groups())));
  TILEPOST_TRY(state_.access.create(state_.num_groups()));
  if (!unpermutes()) return TILEPOST_OK;
  // Zeroed, because slots of edge tiles are sent whole and kernels need not fill them.
  TILEPOST_TRY(make_device_memory(staging_, send_bytes()));
  TILEPOST_CUDA(cudaMemsetAsync(staging_.get(), 0, send_bytes(), comm_stream_.get()));
  schedule_.device_bytes += send_bytes();
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::make_streams() {
  // The highest priority lets a collective's CTAs go before those of other work that waits for an
  // SM. It takes none from the GEMM, which keeps its SMs until it ends.
  TILEPOST_TRY(make_stream(comm_stream_, true));
  if (state_.transport->overlaps()) more_lanes_.resize(std::max(1, plan_->comm_lanes) - 1);
  for (Stream& lane : more_lanes_) TILEPOST_TRY(make_stream(lane, true));
  lane_ends_.resize(kBanks * more_lanes_.size());
  for (Event& end : lane_ends_) TILEPOST_TRY(make_event(end));
  TILEPOST_TRY(make_event(captured_begin_));
  TILEPOST_TRY(make_event(captured_end_));
  return state_.tracker.create();
}

tilepost_result_t CudaOp::load_kernels() {
  TILEPOST_TRY(prepare_kernel(*plan_, device_));
  TILEPOST_CUDA(preload_wait_kernels());
  if (unpermutes()) TILEPOST_CUDA(preload_unpermute());
  return TILEPOST_OK;
}

// Runs every collective of the plan once, so that NCCL has its connections, buffers and kernels
// before a run needs them: it makes them on first use, by size, and waits for the device then.
tilepost_result_t CudaOp::warm_up() {
  if (plan_->pattern == TILEPOST_GEMM) return finish_warm_up();
  if (staging_) return warm_up_with(staging_.get());
  DeviceMemory scratch;
  TILEPOST_TRY(make_device_memory(scratch, send_bytes()));
  TILEPOST_CUDA(cudaMemsetAsync(scratch.get(), 0, send_bytes(), comm_stream_.get()));
  const tilepost_result_t result = warm_up_with(scratch.get());
  // Freeing it waits for the device, which an unfinished collective may occupy for ever.
  if (result == TILEPOST_TIMEOUT && !CounterAccess::drain(comm_stream_.get())) scratch.leak();
  return result;
}

tilepost_result_t CudaOp::warm_up_with(void* buffer) {
  Run run{};
  run.bank = kEager;
  run.comm = comm_stream_.get();
  std::set<std::pair<int, int64_t>> seen;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const tilepost_group_t& block = blocks_[i];
    const int lane = static_cast<int>(i) % num_lanes();
    if (!seen.insert({lane, block.count}).second) continue;
    // Epoch 0 waits for nothing, but tries the waiters out.
    if (state_.transport->overlaps()) TILEPOST_TRY(poll_for_group(run, 0));
    if (state_.stream_waits) TILEPOST_TRY(wait_on_stream(run, 0));
    TILEPOST_TRY(state_.transport->communicate(buffer, block, lane, comm_stream_.get()));
  }
  return finish_warm_up();
}

tilepost_result_t CudaOp::finish_warm_up() {
  const auto begin = Clock::now();
  for (;;) {
    const cudaError_t state = cudaStreamQuery(comm_stream_.get());
    if (state == cudaSuccess) break;
    if (state != cudaErrorNotReady) TILEPOST_CUDA(state);
    cudaGetLastError();
    const std::chrono::duration<double> elapsed = Clock::now() - begin;
    if (options_.deadline_seconds > 0 && elapsed.count() > options_.deadline_seconds) {
      state_.transport->abort();
      return fail(TILEPOST_TIMEOUT,
                  "rank %d: tilepost_op_create of '%s': the first %s did not finish after %g s: a "
                  "rank did not arrive, or failed to create the operation",
                  state_.rank, program_.name, state_.transport->collective(),
                  options_.deadline_seconds);
    }
    std::this_thread::sleep_for(kWarmUpPoll);
  }
  store(state_.record()->progress[kEager], 0);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
