#include <cuda_runtime.h>

#include "runtime/cuda/waiter.h"
#include "tilepost/device/ptx.cuh"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = 32;
// Reading the abort word crosses PCIe; the counter is in this GPU's L2. So look at the word, and at
// the clock, only every so often: about ten times a millisecond.
constexpr int kPollsPerCheck = 512;
constexpr unsigned kPollNanoseconds = 32;

// Signed distance, as in epoch.h.
__device__ bool has_reached(uint32_t counter, uint32_t target) {
  return static_cast<int32_t>(counter - target) >= 0;
}

// Stores a word for the host, after everything this thread stored before.
__device__ void publish(uint32_t* word, uint32_t value) {
  __threadfence_system();
  *static_cast<volatile uint32_t*>(word) = value;
}

// Polls until the counter has reached the target (true), or the host says abort or the deadline has
// passed (false, and the record says which counter value was seen last).
__device__ bool poll(const WaitArguments& args) {
  const uint64_t start = ptx::global_time_ns();
  for (;;) {
    for (int i = 0; i < kPollsPerCheck; ++i) {
      if (has_reached(ptx::load_relaxed_sys(args.counter), args.target)) return true;
      ptx::sleep_ns(kPollNanoseconds);
    }
    if (ptx::load_relaxed_sys(&args.record->abort) != 0) return false;
    if (args.deadline_ns == 0 || ptx::global_time_ns() - start < args.deadline_ns) continue;
    WaitRecord report = args.report;
    report.timed_out = 0;
    report.counter = ptx::load_relaxed_sys(args.counter);
    *args.on_timeout = report;
    publish(&args.on_timeout->timed_out, 1);
    return false;
  }
}

// Polling with relaxed loads and acquiring once pays for one invalidation of L1 instead of one per
// poll. The acquire pairs with the kernel's red.release at .sys scope: NCCL's kernels are launched
// in another memory synchronisation domain, from which only .sys is seen (CUDA C++ Programming
// Guide, "Memory Synchronization Domains"). It reads the same counter, which never falls, so it
// observes the release or a later one of its release sequence (PTX ISA, "Memory Consistency
// Model").
__global__ void __launch_bounds__(kThreads)
    wait_kernel(const __grid_constant__ WaitArguments args) {
  if (threadIdx.x != 0) return;
  if (!poll(args)) return;
  ptx::load_acquire_sys(args.counter);
  publish(args.progress, args.progress_value);
}

// What precedes this kernel in its stream is complete and visible to it (CUDA C++ Programming
// Guide, Streams), whoever wrote it; the release hands it on, and at .sys scope, because NCCL's
// kernels ran in another memory synchronisation domain. A plain store of the run's number, not an
// addition: one thread at a time writes a counter, in the order of the stream.
__global__ void post_kernel(const __grid_constant__ PostArguments args) {
  ptx::store_release_sys(args.counter, args.value);
  publish(args.progress, args.progress_value);
  // The host says abort before it releases the counters. If it has, this post may have taken that
  // back.
  if (ptx::load_relaxed_sys(&args.record->abort) != 0)
    ptx::store_release_sys(args.counter, args.value + kReleased);
}

__global__ void replay_begin_kernel(Record* record, uint32_t which) {
  publish(&record->replayed, which);
  publish(&record->progress[kCaptured], 0);
  publish(&record->replays_begun, record->replays_begun + 1);
}

__global__ void replay_end_kernel(Record* record) {
  publish(&record->replays_ended, record->replays_begun);
}

template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), int threads, cudaStream_t stream,
                   const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(1);
  config.blockDim = dim3(threads);
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace

cudaError_t preload_wait_kernels() {
  const void* const kernels[] = {reinterpret_cast<const void*>(wait_kernel),
                                 reinterpret_cast<const void*>(post_kernel),
                                 reinterpret_cast<const void*>(replay_begin_kernel),
                                 reinterpret_cast<const void*>(replay_end_kernel)};
  for (const void* kernel : kernels) {
    cudaFuncAttributes attributes;
    if (const auto error = cudaFuncGetAttributes(&attributes, kernel); error != cudaSuccess)
      return error;
    // An SM changes its split of L1 and shared memory only when it is idle. Ask for the split of
    // the GEMM, so that a waiter that got to an SM first does not keep the GEMM's CTA out.
    if (const auto error = cudaFuncSetAttribute(
            kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
        error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

cudaError_t launch_wait(const WaitArguments& arguments, cudaStream_t stream) {
  return launch(wait_kernel, kThreads, stream, arguments);
}

cudaError_t launch_post(const PostArguments& arguments, cudaStream_t stream) {
  return launch(post_kernel, 1, stream, arguments);
}

cudaError_t launch_replay_begin(Record* record, uint32_t which, cudaStream_t stream) {
  return launch(replay_begin_kernel, 1, stream, record, which);
}

cudaError_t launch_replay_end(Record* record, cudaStream_t stream) {
  return launch(replay_end_kernel, 1, stream, record);
}

}  // namespace tilepost::cuda
