// How a grid finds the block that comes last.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace tilepost::cuda {

// Whether this block is the last one of `count` blocks to come here. All threads of each of these
// blocks call this once. What all of them have written before is then visible to all threads of the
// last one: each block's barrier orders its threads' accesses before thread 0's fence (PTX ISA,
// bar), a fence and the atomic operation behind it are a release pattern, and an atomic operation
// with a fence behind it is an acquire pattern (PTX ISA 8.8). The last of these operations observes
// all others, since read-modify-writes continue a release pattern. `blocks` is 0 before the first
// block comes, and again behind the last one.
__device__ inline bool comes_last(uint32_t* blocks, uint32_t count) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicInc(blocks, count - 1) == count - 1;
    __threadfence();
  }
  __syncthreads();
  return last;
}

}  // namespace tilepost::cuda
