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
  state_.transports.close(!made_ || state_.failure.is_set(), stuck);
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

tilepost_result_t make_op(Communicator& comm, const tilepost_program_t& program,
                          const tilepost_options_t& options, std::unique_ptr<tilepost_op>& op) {
  if (comm.is_aborted())
    return fail(TILEPOST_ABORTED, "the communicator was aborted earlier; make a new one");
  DeviceGuard guard;
  TILEPOST_TRY(guard.enter(comm.device()));
  auto made = std::make_unique<CudaOp>(program, options);
  TILEPOST_TRY(made->create(comm));
  op = std::move(made);
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
