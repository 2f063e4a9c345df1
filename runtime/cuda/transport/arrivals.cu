// One kernel serves many groups, because the next kernel of a stream begins 10 to 15 us late beside
// a GEMM that keeps the memory busy (docs/internals/performance.md). The kernel's first threads,
// one for each rank, wait and post. The other threads copy own rows meanwhile.
//
// A thread acquires what its rank has announced (flags.cu). The barrier of the waiting threads puts
// these acquires before the post by one of them. The post hands on everything that they have
// observed of this group and of earlier groups (PTX ISA, barrier; 8.9.5, Causality Order).
#include <cuda_runtime.h>

#include <algorithm>

#include "runtime/cuda/device/kernel_launch.cuh"
#include "runtime/cuda/shared/flags.cuh"
#include "runtime/cuda/transport/arrivals.h"
#include "runtime/cuda/watch/posting.cuh"
#include "tilepost/internal/timeline_words.h"

namespace tilepost::cuda {
namespace {

constexpr int kWaiters = kMostPeers;
constexpr int kCopiers = 1024 - kWaiters;

// The numbers of barriers. kCame is the barrier of the waiting threads. own_barrier() is the
// barrier of all threads for either part of the own rows.
constexpr int kCame = 1;

__device__ __forceinline__ int own_barrier(int part) {
  return kCame + 1 + part;
}

// Each thread has so many loads under way that they hide the latency of one.
__device__ __forceinline__ void copy_rows(const OwnRows& rows) {
  constexpr int kAtOnce = 8;
  const auto* const from = static_cast<const uint4*>(rows.from);
  auto* const to = static_cast<uint4*>(rows.to);
  const int64_t units = rows.bytes / static_cast<int64_t>(sizeof(uint4));
  const int copier = static_cast<int>(threadIdx.x) - kWaiters;
  for (int64_t first = copier; first < units; first += int64_t{kAtOnce} * kCopiers) {
    uint4 some[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (first + i * kCopiers < units) some[i] = from[first + i * kCopiers];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (first + i * kCopiers < units) to[first + i * kCopiers] = some[i];
  }
}

// Arriving at the barrier puts the copies before the work that the waiting threads do after it (PTX
// ISA, barrier).
__device__ __forceinline__ void copy_own(const ArrivalArguments& args) {
  for (int part = 0; part < 2; ++part) {
    if (args.own[part].bytes == 0) continue;
    copy_rows(args.own[part]);
    ptx::arrive_threads(own_barrier(part), kWaiters + kCopiers);
  }
}

// A group whose wait was given up is posted too. Its run is over, and the GEMM must not wait until
// the host has released every group.
__global__ void __launch_bounds__(kWaiters + kCopiers)
    arrivals_kernel(const __grid_constant__ SharedFlags flags,
                    const __grid_constant__ ArrivalArguments args) {
  const int rank = static_cast<int>(threadIdx.x);
  if (rank >= kWaiters) return copy_own(args);
  const uint32_t run = *flags.run;
  for (int i = 0; i < args.count; ++i) {
    const int group = args.first + i;
    if ((args.sources[i] >> rank & 1) != 0)
      wait_for(flags, own_flags(flags) + flag_word(Flag::block, args.lane, rank, flags.ranks),
               flag_value(run, group), flags.page->shared + flag_wait(Flag::block, args.lane, rank),
               group);
    __syncwarp();  // a warp must arrive at a barrier as a whole
    for (int part = 0; part < 2; ++part)
      if (args.own[part].bytes > 0 && args.own[part].before == group)
        ptx::sync_threads(own_barrier(part), kWaiters + kCopiers);
    ptx::sync_threads(kCame, kWaiters);
    if (rank != 0) continue;
    post(post_of(args, i));
    if (args.stamps != nullptr && args.sources[i] != 0)
      ptx::red_max_relaxed(args.stamps + i * kTimelineStride + kStepsEnd, ptx::global_time_ns());
  }
}

}  // namespace

cudaError_t preload_arrivals() {
  return preload_beside_gemm(reinterpret_cast<const void*>(arrivals_kernel));
}

cudaError_t launch_arrivals(const SharedFlags& flags, const ArrivalArguments& arguments,
                            cudaStream_t stream) {
  const bool copies =
      std::ranges::any_of(arguments.own, [](const OwnRows& rows) { return rows.bytes > 0; });
  return launch_kernel(arrivals_kernel, 1, kWaiters + (copies ? kCopiers : 0), stream, flags,
                       arguments);
}

}  // namespace tilepost::cuda
