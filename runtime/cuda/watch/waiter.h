// The small kernels that wait for a group's counter on the communication stream, that raise the
// counter when a group's input has arrived, and that begin and end captured runs.
//
// The polling kernel is one warp of one CTA, for which the plan keeps an SM free. The stream waiter
// (cuStreamWaitValue32, in runtime/cuda/op/communication.cpp) takes no SM. It reacts later and has
// no deadline of its own, so only the watchdog's deadline applies.
#pragma once

#include <cuda_runtime_api.h>

#include "runtime/cuda/watch/watch_page.h"

namespace tilepost::cuda {

struct WaitArguments {
  const uint32_t* counter;
  uint32_t target;       // the value that the counter has to reach (epoch.h)
  uint64_t deadline_ns;  // 0 if there is none
  WatchPage* page;
  WaitRecord* on_timeout;  // gets `report`, with the rest filled in
  WaitRecord report;
  uint32_t* progress;  // gets `progress_value` when the wait is over
  uint32_t progress_value;
};

// The value that is added to the counters of arrivals when runs are given up. It is more than any
// run in flight waits for, and half of the distance that still counts as later (epoch.h).
constexpr uint32_t kReleased = 1u << 30;

struct PostArguments {
  uint32_t* counter;
  uint32_t value;
  int behind;  // how many counters behind `counter` get the value too
  const WatchPage* page;
  uint32_t* progress;  // gets `progress_value`
  uint32_t progress_value;
};

// Loads the kernels below before any kernel waits, since loading may have to wait for running
// kernels.
cudaError_t preload_wait_kernels();

// Ends when the counter has reached the target, the deadline has passed or the host stores the
// abort word. Later work in the stream sees everything that was stored before the counter was
// raised.
cudaError_t launch_wait(const WaitArguments& arguments, cudaStream_t stream);

// Stores the counter's new value after earlier work in the stream. A tile that acquires the value
// sees all of that work.
cudaError_t launch_post(const PostArguments& arguments, cudaStream_t stream);

// Mark the begin and the end of a captured run that no other kernel begins and ends.
cudaError_t launch_replay_begin(WatchPage* page, const ReplayBeginning& replay,
                                cudaStream_t stream);
cudaError_t launch_replay_end(WatchPage* page, cudaStream_t stream);

}  // namespace tilepost::cuda
