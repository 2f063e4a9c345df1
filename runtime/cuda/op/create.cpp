// Making an operation. Everything that waits for other ranks comes where all ranks come, or all do
// not: what depends only on the program first, then the communicator, then what can fail on one
// rank alone, and a bounded wait last.
#include <algorithm>

#include "runtime/cuda/consumers/norm.h"
#include "runtime/cuda/consumers/unpermute.h"
#include "runtime/cuda/device/environment.h"
#include "runtime/cuda/op/op.h"
#include "runtime/cuda/op/select.h"
#include "runtime/cuda/transport/window_memory.h"
#include "runtime/cuda/watch/waiter.h"
#include "tilepost/dtype.h"

namespace tilepost::cuda {
namespace {

constexpr int64_t kOutputBytes = 2;  // of an element: bf16 and f16

}  // namespace

tilepost_result_t CudaOp::create(Communicator& comm) {
  TILEPOST_TRY(read_device(comm.device(), device_));
  TILEPOST_TRY(select_plan(program_, device_, plan_));
  TILEPOST_TRY(check_plan(program_, *plan_, device_, comm.world()));
  TILEPOST_TRY(check_environment(*plan_));
  TILEPOST_TRY(make_transports(
      {comm, *plan_, options_.deadline_seconds, options_.share_memory != 0}, state_.transports));
  warnings_ = plan_warnings(*plan_, device_) + environment_warnings(*plan_);
  if (windows() != nullptr) warnings_ += windows()->warnings();
  TILEPOST_TRY(load_driver(driver_));
  TILEPOST_TRY(make_streams());
  TILEPOST_TRY(allocate(comm));
  places_ = {&driver_, shared(), state_.bank(kEager), nullptr};
  TILEPOST_TRY(maps_.create(program_.name, *plan_, comm.rank(), places_));
  TILEPOST_TRY(allocate_buffers());
  TILEPOST_TRY(load_kernels());
  TILEPOST_TRY(warm_up());
  watchdog_.start(state_);
  made_ = true;
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::allocate(const Communicator& comm) {
  state_.device = comm.device();
  state_.rank = comm.rank();
  state_.deadline_seconds = options_.deadline_seconds;
  state_.comm_aborted = comm.aborted();
  order_ = comm.order();
  if (has_tasks(*plan_, true)) TILEPOST_TRY(order_->create());
  state_.stream_waits = plan_->wait == TILEPOST_WAIT_STREAM && !gathers();
  state_.gathers = gathers();
  SharedService* shared_memory = state_.transports.shared.get();
  if (shared_memory != nullptr) state_.others_aborted = shared_memory->others_aborted();
  state_.tiles_from_all = shared_memory != nullptr && writes();
  state_.tasks = has_tasks(*plan_, true) && writes();
  state_.collective = collective_name(plan_->pattern);
  state_.most_groups = plan_->map.num_groups;
  state_.ledger.create(plan_->map.num_groups, plan_->map.division == TILEPOST_DIVISION_ARRIVALS &&
                                                  !completes_out(*plan_, true));
  tensor_maps_.init(*plan_, driver_);
  const size_t counter_bytes = kBanks * state_.counter_words() * sizeof(uint32_t);
  TILEPOST_TRY(make_device_memory(state_.counters, counter_bytes));
  TILEPOST_CUDA(cudaMemsetAsync(state_.counters.get(), 0, counter_bytes, comm_stream_.get()));
  device_bytes_ += static_cast<int64_t>(counter_bytes);
  TILEPOST_TRY(make_pinned_memory(state_.watch_memory, watch_page_bytes(state_.most_groups)));
  if (shared_memory != nullptr) shared_memory->report_to(state_.page(), options_.deadline_seconds);
  return state_.access.create(state_.most_groups);
}

// For the largest run: no later one allocates.
tilepost_result_t CudaOp::allocate_buffers() {
  const bool one_size = plan_->any_m == 0 && !is_routed(*plan_) && windows() == nullptr;
  sizes_ = one_size ? maps_.planned()->run->sizes : most_sizes(*plan_);
  if (shared() != nullptr) device_bytes_ += state_.transports.shared->bytes();
  if (windows() != nullptr) device_bytes_ += windows()->layout().bytes;
  if (stores_by_owner() || (stores_apart(*plan_) && !reads() && windows() == nullptr))
    TILEPOST_TRY(add_buffer(send_, sizes_.send * kOutputBytes));
  places_.send = send_.get();
  if (!receives_in_windows(*plan_))
    TILEPOST_TRY(add_buffer(received_, sizes_.receive * kOutputBytes));
  TILEPOST_TRY(add_buffer(scratch_, num_lanes() * sizes_.scratch * kOutputBytes));
  if (gathers() && shared() == nullptr && windows() == nullptr)
    TILEPOST_TRY(add_buffer(gathered_, plan_->map.m * plan_->k * element_bytes(plan_->input)));
  if (!is_routed(*plan_)) return TILEPOST_OK;
  const size_t numbers =
      (1 + size_t(plan_->ranks)) * std::max(1, plan_->map.num_groups) * plan_->ranks;
  TILEPOST_TRY(add_buffer(exchanged_, static_cast<int64_t>(numbers * sizeof(int64_t))));
  return make_pinned_memory(exchange_staging_, numbers * sizeof(int64_t));
}

// Zeroed, because parts of edge tiles and of padded shares are sent that kernels need not fill.
tilepost_result_t CudaOp::add_buffer(DeviceMemory& memory, int64_t bytes) {
  if (bytes == 0) return TILEPOST_OK;
  TILEPOST_TRY(make_device_memory(memory, static_cast<size_t>(bytes)));
  TILEPOST_CUDA(cudaMemsetAsync(memory.get(), 0, static_cast<size_t>(bytes), comm_stream_.get()));
  device_bytes_ += bytes;
  return TILEPOST_OK;
}

tilepost_result_t CudaOp::make_streams() {
  // The highest priority lets a collective's CTAs go before those of other work that waits for an
  // SM. It takes none from the GEMM, which keeps its SMs until it ends.
  TILEPOST_TRY(make_stream(comm_stream_, true));
  // Input arrives in order: a tile whose rows come with two groups waits for the later one only.
  if (state_.transports.overlapping && !gathers() && shared() == nullptr)
    more_lanes_.resize(std::max(1, plan_->comm_lanes) - 1);
  for (Stream& lane : more_lanes_) TILEPOST_TRY(make_stream(lane, true));
  lane_ends_.resize(static_cast<size_t>(kBanks) * num_lanes());
  for (Event& end : lane_ends_) TILEPOST_TRY(make_event(end));
  TILEPOST_TRY(make_event(fork_));
  TILEPOST_TRY(make_event(captured_fork_));
  TILEPOST_TRY(make_event(captured_end_));
  return state_.tracker.create();
}

tilepost_result_t CudaOp::load_kernels() {
  TILEPOST_TRY(prepare_kernel(*plan_, device_));
  TILEPOST_CUDA(preload_wait_kernels());
  if (unpermutes()) TILEPOST_CUDA(preload_unpermute());
  if (normalises(*plan_)) TILEPOST_CUDA(preload_norm(plan_->output));
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
