// How the blocks of a kernel push rows of A (RowPushes).
#pragma once

#include <cuda_runtime.h>

#include "runtime/cuda/consumers/row_pushes.h"
#include "tilepost/device/ptx.cuh"

namespace tilepost::cuda {

// A rank stores first to the rank before it, so that not all ranks store to one rank at once.
__device__ __forceinline__ void push_chunk(const RowPushes& pushes, const PushedRows& rows,
                                           int chunk) {
  const int64_t at = chunk * kPushedChunk + static_cast<int64_t>(threadIdx.x) * sizeof(uint4);
  if (at >= rows.bytes) return;
  const uint4 some =
      __ldcs(reinterpret_cast<const uint4*>(static_cast<const char*>(pushes.a) + rows.from + at));
  for (int distance = 1; distance < pushes.ranks; ++distance) {
    const int peer = (pushes.rank + pushes.ranks - distance) % pushes.ranks;
    *reinterpret_cast<uint4*>(static_cast<char*>(pushes.there[peer]) + rows.to + at) = some;
  }
}

// All kPushingThreads threads of block `block` of `blocks`. The kernel that begins the run comes
// before this one in the stream, so that the other ranks' memory may be written.
//
// The barrier orders the stores of all threads before the releases behind it (PTX ISA, bar; 8.9.5,
// Causality Order: a release is cumulative), whose scope spans GPUs, as the stores do. The threads
// of a tile that acquire the counter's last value observe all additions, since read-modify-writes
// form one chain (8.9.2, Observation Order).
//
// After a wait that was given up nothing may be stored, because other ranks may still read what the
// run before has brought. One thread looks, so that all do the same.
__device__ inline void push_rows(const RowPushes& pushes, int block, int blocks) {
  const bool over =
      threadIdx.x == 0 && *static_cast<const volatile uint32_t*>(pushes.given_up) != 0;
  if (__syncthreads_or(over ? 1 : 0) != 0) return;
  int chunk = block;
  for (int group = 0; group < pushes.groups; ++group) {
    const PushedRows& rows = pushes.rows[group];
    const int in_group = pushed_chunks(rows.bytes);
    uint32_t count = 0;
    for (; chunk < in_group; chunk += blocks, ++count) push_chunk(pushes, rows, chunk);
    chunk -= in_group;
    if (count == 0) continue;  // the same for all threads
    __syncthreads();
    const auto rank = static_cast<int>(threadIdx.x);
    if (rank < pushes.ranks && rank != pushes.rank)
      ptx::red_release_sys(pushes.raise[rank] + group * TILEPOST_COUNTER_STRIDE, count);
  }
}

}  // namespace tilepost::cuda
