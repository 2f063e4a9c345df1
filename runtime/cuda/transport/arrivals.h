// Posts rows of A that other ranks' copy engines bring. A kernel stays beside the GEMM. It waits
// for each group's announcements and posts the group.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/cuda/shared/flags.h"
#include "runtime/cuda/watch/waiter.h"

namespace tilepost::cuda {

constexpr int kMostArrivals = 32;  // how many groups one launch posts at most

// Own rows that tiles read where other ranks' rows arrive. Both addresses and the size are
// multiples of 16 bytes, as TMA requires of A.
struct OwnRows {
  const void* from;
  void* to;
  int64_t bytes;  // 0 if there are none
  int before;     // the group before whose post the rows are copied
};

struct ArrivalArguments {
  int lane;
  int first, count;                 // groups [first, first + count)
  uint64_t sources[kMostArrivals];  // of each group: a bit for every rank that announces it
  OwnRows own[2];
  PostArguments post;  // of the first group, but `behind` is the last one's
  uint64_t* stamps;    // of the first group: its line of times (timeline_words.h); null: none
};

// The post of the group with this index; the first group here has index 0. The groups' counters and
// progress words follow each other.
__host__ __device__ constexpr PostArguments post_of(const ArrivalArguments& arguments, int index) {
  PostArguments post = arguments.post;
  post.counter += index * TILEPOST_COUNTER_STRIDE;
  post.progress_value += static_cast<uint32_t>(index);
  if (index + 1 < arguments.count) post.behind = 0;
  return post;
}

// Loads the kernel before any kernel waits, since loading may have to wait for running kernels.
cudaError_t preload_arrivals();

// Posts one group after the other. A group is posted when all its ranks have announced it
// (launch_announce) and the own rows that have to be there before it have been copied. Takes one SM
// until the last group is posted, with a CTA of 1024 threads if own rows are copied.
cudaError_t launch_arrivals(const SharedFlags& flags, const ArrivalArguments& arguments,
                            cudaStream_t stream);

}  // namespace tilepost::cuda
