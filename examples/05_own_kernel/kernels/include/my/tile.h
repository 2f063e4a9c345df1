// Where a block and its threads are in the product.
#pragma once

namespace my {

constexpr int kThreads = 256, kPerThread = 4;  // a thread computes 4 x 4 elements

struct Place {
  int row, column;
};

// The first element of the block's tile.
template <int kRows, int kColumns>
__device__ inline Place place_of_block() {
  return {static_cast<int>(blockIdx.y) * kRows, static_cast<int>(blockIdx.x) * kColumns};
}

// The first of the thread's elements in it.
template <int kColumns>
__device__ inline Place place_of_thread() {
  constexpr int kPerRow = kColumns / kPerThread;
  const int thread = static_cast<int>(threadIdx.x);
  return {thread / kPerRow * kPerThread, thread % kPerRow * kPerThread};
}

}  // namespace my
