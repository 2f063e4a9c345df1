#include "runtime/cuda/shared/run_order.h"

#include <chrono>
#include <thread>

namespace tilepost::cuda {
namespace {

constexpr std::chrono::microseconds kPoll{20};

}  // namespace

// An exclusive run waits for the runs from the last exclusive run on. That run has waited for all
// runs before it.
tilepost_result_t RunOrder::follow(Member& member, const Run& run) {
  const std::lock_guard lock(mutex_);
  const auto wait_for = [&run](const Last& last) -> tilepost_result_t {
    if (last.end != nullptr && (run.stream_id == 0 || last.stream_id != run.stream_id))
      TILEPOST_CUDA(cudaStreamWaitEvent(run.stream, last.end, 0));
    return TILEPOST_OK;
  };
  if (run.exclusive) {
    for (const Last& last : since_)
      if (last.member != &member) TILEPOST_TRY(wait_for(last));
  } else if (member.followed != num_exclusive_ && exclusive_.member != &member) {
    TILEPOST_TRY(wait_for(exclusive_));
  }
  member.following = num_exclusive_;
  return TILEPOST_OK;
}

// The last run of a member stands for all of the member's runs, and the last run on a stream for
// all runs on that stream.
void RunOrder::add(Member& member, const Run& run, cudaEvent_t end) {
  const std::lock_guard lock(mutex_);
  const Last last{&member, run.stream_id, end};
  std::erase_if(since_, [&](const Last& other) {
    return run.exclusive || other.member == &member || other.stream_id == run.stream_id;
  });
  since_.push_back(last);
  member.followed = member.following;
  if (!run.exclusive) return;
  exclusive_ = last;
  member.followed = ++num_exclusive_;
}

void RunOrder::leave(const Member& member) {
  const std::lock_guard lock(mutex_);
  std::erase_if(since_, [&](const Last& last) { return last.member == &member; });
  if (exclusive_.member == &member) exclusive_ = {};
}

tilepost_result_t RunOrder::query_exclusive(bool& ended) {
  const std::lock_guard lock(mutex_);
  ended = true;
  if (exclusive_.end == nullptr) return TILEPOST_OK;
  const cudaError_t state = cudaEventQuery(exclusive_.end);
  ended = state != cudaErrorNotReady;
  if (ended) TILEPOST_CUDA(state);
  cudaGetLastError();  // otherwise 'not ready' would stay CUDA's last error
  return TILEPOST_OK;
}

// The deadline of the exclusive run ends this wait, and the communicator too.
tilepost_result_t RunOrder::wait_for_exclusive(const std::atomic<bool>& aborted) {
  const CaptureModeGuard relaxed;
  for (;;) {
    bool ended = false;
    TILEPOST_TRY(query_exclusive(ended));
    if (ended && !aborted.load()) return TILEPOST_OK;
    if (aborted.load())
      return fail(TILEPOST_ABORTED,
                  "the communicator was aborted by another operation while this "
                  "call waited for its runs; make a new one");
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace tilepost::cuda
