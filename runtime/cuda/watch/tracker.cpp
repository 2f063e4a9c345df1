#include "runtime/cuda/watch/tracker.h"

namespace tilepost::cuda {
namespace {

tilepost_result_t query(cudaEvent_t event, bool& done) {
  const cudaError_t state = cudaEventQuery(event);
  done = state == cudaSuccess;
  if (done) return TILEPOST_OK;
  if (state != cudaErrorNotReady) return fail_cuda(TILEPOST_PLACE(cudaEventQuery(event)), state);
  cudaGetLastError();  // otherwise 'not ready' would stay CUDA's last error
  return TILEPOST_OK;
}

}  // namespace

tilepost_result_t RunTracker::create() {
  for (Slot& slot : slots_) {
    TILEPOST_TRY(make_event(slot.begin));
    TILEPOST_TRY(make_event(slot.end));
    TILEPOST_TRY(make_event(slot.apart));
  }
  return TILEPOST_OK;
}

bool RunTracker::has_room() {
  const std::lock_guard lock(mutex_);
  return count_ < kMaxInFlight;
}

bool RunTracker::has_any() const {
  const std::lock_guard lock(mutex_);
  return count_ > 0;
}

bool RunTracker::is_in_flight(uint64_t run) {
  const std::lock_guard lock(mutex_);
  return count_ > 0 && slots_[head_].run.run <= run;
}

void RunTracker::commit(uint64_t run, bool apart) {
  const std::lock_guard lock(mutex_);
  slots_[next_].run = {run, false, {}};
  slots_[next_].ends_apart = apart;
  last_end_ = slots_[next_].end.get();
  next_ = (next_ + 1) % kMaxInFlight;
  ++count_;
}

tilepost_result_t RunTracker::observe(std::optional<Oldest>& oldest) {
  const CaptureModeGuard relaxed;
  const std::lock_guard lock(mutex_);
  oldest.reset();
  while (count_ > 0) {
    Slot& slot = slots_[head_];
    bool done = false;
    TILEPOST_TRY(query(slot.ends_apart ? slot.apart.get() : slot.end.get(), done));
    if (!done) {
      bool started = slot.run.started;
      if (!started) TILEPOST_TRY(query(slot.begin.get(), started));
      if (started && !slot.run.started) slot.run.since = Clock::now();
      slot.run.started = started;
      oldest = slot.run;
      return TILEPOST_OK;
    }
    head_ = (head_ + 1) % kMaxInFlight;
    --count_;
  }
  return TILEPOST_OK;
}

}  // namespace tilepost::cuda
