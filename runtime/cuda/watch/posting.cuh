// Raises the counter of a group whose input has arrived. One thread calls it.
#pragma once

#include "runtime/cuda/watch/polling.cuh"
#include "runtime/cuda/watch/waiter.h"

namespace tilepost::cuda {

// Earlier work in the stream is complete and visible to the thread, whatever wrote it (CUDA C++
// Programming Guide, Streams), and so is everything that the thread has acquired. The release hands
// both on (PTX ISA 8.9.5, Causality Order). It has .sys scope, because NCCL's kernels ran in
// another memory synchronisation domain. It is a plain store of the run's number and not an
// addition, because one thread at a time writes a counter, in the order of the stream.
__device__ __forceinline__ void post(const PostArguments& args) {
  const auto store = [&](uint32_t value) {
    for (int i = 0; i <= args.behind; ++i)
      ptx::store_release_sys(args.counter + i * TILEPOST_COUNTER_STRIDE, value);
  };
  store(args.value);
  publish(args.progress, args.progress_value);
  // When a run is given up, the host stores the abort word and then adds kReleased to the counters,
  // so that waits for them end. The store above may have overwritten that. So, if the abort word is
  // there, the counters get their value with kReleased again.
  if (ptx::load_relaxed_sys(&args.page->abort) != 0) store(args.value + kReleased);
}

}  // namespace tilepost::cuda
