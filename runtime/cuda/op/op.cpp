#include "runtime/cuda/op/op.h"

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
  const bool stuck = state_.failure.is_set() && !CounterAccess::drain(comm_stream_.get());
  if (state_.transports.overlapping) {
    state_.transports.overlapping->close(!made_ || state_.failure.is_set());
    if (stuck) state_.transports.overlapping->leak();
    // What it has mapped of other processes belongs to this device.
    state_.transports.overlapping.reset();
  }
  if (!stuck) return;
  // Freeing device memory waits for the device, and this one has not come back.
  state_.counters.leak();
  state_.watch_memory.leak();
  for (DeviceMemory* memory : {&send_, &received_, &gathered_, &scratch_, &exchanged_})
    memory->leak();
  maps_.leak();
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
  const DeviceMap& map = *maps_.planned();
  info.plan = plan_;
  info.rank = state_.rank;
  info.out_elements = map.run != nullptr ? map.run->sizes.out : 0;
  info.device_bytes = device_bytes_ + maps_.device_bytes();
  info.rows = keeps_slots(*plan_) ? map.rows : nullptr;
  info.out = lends_landed(*plan_) ? shared()->own(shared()->layout().landed) : nullptr;
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
