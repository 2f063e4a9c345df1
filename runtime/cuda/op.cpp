#include "runtime/cuda/op.h"

#include <chrono>
#include <thread>

namespace tilepost::cuda {
namespace {

constexpr std::chrono::microseconds kSynchronizePoll{20};

}  // namespace

CudaOp::~CudaOp() {
  DeviceGuard guard;
  guard.enter(device_.ordinal);
  if (state_.tracker.last_end() != nullptr || state_.captured) synchronize();
  watchdog_.stop();
  if (!state_.failure.is_set() || CounterAccess::drain(comm_stream_.get())) return;
  // Freeing device memory waits for the device, and this one has not come back.
  state_.counters.leak();
  state_.record_memory.leak();
  staging_.leak();
  schedule_.tiles.leak();
  schedule_.positions.leak();
  schedule_.rows.leak();
}

tilepost_result_t CudaOp::status() {
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(device_.ordinal));
  return state_.observe();
}

tilepost_result_t CudaOp::synchronize() {
  for (;;) {
    const tilepost_result_t result = status();
    if (result != TILEPOST_IN_PROGRESS) return result;
    std::this_thread::sleep_for(kSynchronizePoll);
  }
}

tilepost_result_t CudaOp::get_info(tilepost_op_info_t& info) {
  const tilepost_map_t& map = plan_->map;
  info.plan = plan_;
  info.rank = state_.rank;
  info.out_elements = keeps_tile_layout(*plan_) ? schedule_.map.send_elements : map.m * map.n;
  info.device_bytes = schedule_.device_bytes;
  info.rows = static_cast<const int32_t*>(schedule_.rows.get());
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
