// Posts rows of A that other ranks' copy engines bring. A kernel stays beside the GEMM, waits for
// each group's announcements and posts the group.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/watch/waiter.h"

namespace tilepost::cuda {

constexpr int kMostArrivals = 32;  // groups that one launch posts

// Own rows that tiles read where other ranks' arrive. Both places and the size are multiples of 16
// bytes, as TMA asks of A.
struct OwnRows {
  const void* from;
  void* to;
  int64_t bytes;  // 0: none
  int before;     // copied before this group is posted
};

struct ArrivalArguments {
  int lane;
  int first, count;                 // groups
  uint64_t sources[kMostArrivals];  // of each: a bit for every rank that announces it
  OwnRows own[2];
  PostArguments post;  // of the first group, but `behind` is the last one's
};

// The post of a group, whose `index` counts from the first group here. The groups' counters and
// progress words follow each other.
__host__ __device__ constexpr PostArguments post_of(const ArrivalArguments& arguments, int index) {
  PostArguments post = arguments.post;
  post.counter += index * TILEPOST_COUNTER_STRIDE;
  post.progress_value += static_cast<uint32_t>(index);
  if (index + 1 < arguments.count) post.behind = 0;
  return post;
}

// Loads the kernel, so that it need not be loaded while something waits.
cudaError_t preload_arrivals();

// Posts one group after the other, when all its ranks have announced it (launch_announce) and the
// own rows that are to be there before it have been copied. Takes one SM, with a CTA of 1024
// threads where own rows are copied, until the last group is posted.
cudaError_t launch_arrivals(const SharedFlags& flags, const ArrivalArguments& arguments,
                            cudaStream_t stream);

}  // namespace tilepost::cuda
