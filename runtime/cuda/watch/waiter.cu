#include <cuda_runtime.h>

#include "runtime/cuda/device/kernel_launch.cuh"
#include "runtime/cuda/watch/posting.cuh"
#include "runtime/cuda/watch/replay.cuh"

namespace tilepost::cuda {
namespace {

constexpr int kThreads = 32;

// Reports that a wait gave up, and the last value of the counter.
__device__ void report_timeout(const WaitArguments& args) {
  WaitRecord report = args.report;
  report.timed_out = 0;
  report.counter = ptx::load_relaxed_sys(args.counter);
  *args.on_timeout = report;
  publish(&args.on_timeout->timed_out, 1);
}

// The acquire after the polling pairs with the kernel's red.release at .sys scope. NCCL's kernels
// are launched in another memory synchronisation domain, where only operations of .sys scope are
// seen (CUDA C++ Programming Guide, "Memory Synchronization Domains"). The acquire reads the same
// counter, which never falls, so it observes the release or a later one of its release sequence
// (PTX ISA, "Memory Consistency Model").
__global__ void __launch_bounds__(kThreads)
    wait_kernel(const __grid_constant__ WaitArguments args) {
  if (threadIdx.x != 0) return;
  const PollEnd end = poll({args.counter, args.target, args.deadline_ns, args.page}, [] {});
  if (end == PollEnd::late) report_timeout(args);
  if (end != PollEnd::reached) return;
  ptx::load_acquire_sys(args.counter);
  publish(args.progress, args.progress_value);
}

__global__ void post_kernel(const __grid_constant__ PostArguments args) {
  post(args);
}

__global__ void __launch_bounds__(kThreads)
    replay_begin_kernel(WatchPage* page, const ReplayBeginning replay) {
  begin_replay(page, replay, static_cast<int>(threadIdx.x));
}

__global__ void replay_end_kernel(WatchPage* page) {
  end_replay(page, replays_begun(page));
}

}  // namespace

cudaError_t preload_wait_kernels() {
  const void* const kernels[] = {reinterpret_cast<const void*>(wait_kernel),
                                 reinterpret_cast<const void*>(post_kernel),
                                 reinterpret_cast<const void*>(replay_begin_kernel),
                                 reinterpret_cast<const void*>(replay_end_kernel)};
  for (const void* kernel : kernels)
    if (const auto error = preload_beside_gemm(kernel); error != cudaSuccess) return error;
  return cudaSuccess;
}

cudaError_t launch_wait(const WaitArguments& arguments, cudaStream_t stream) {
  return launch_kernel(wait_kernel, 1, kThreads, stream, arguments);
}

cudaError_t launch_post(const PostArguments& arguments, cudaStream_t stream) {
  return launch_kernel(post_kernel, 1, 1, stream, arguments);
}

cudaError_t launch_replay_begin(WatchPage* page, const ReplayBeginning& replay,
                                cudaStream_t stream) {
  return launch_kernel(replay_begin_kernel, 1, kThreads, stream, page, replay);
}

cudaError_t launch_replay_end(WatchPage* page, cudaStream_t stream) {
  return launch_kernel(replay_end_kernel, 1, 1, stream, page);
}

}  // namespace tilepost::cuda
