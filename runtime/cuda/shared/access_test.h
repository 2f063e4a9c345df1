// Tests whether memory that ranks share does what runs count on: stores of other GPUs arrive, and
// no addition is lost when several GPUs add to one word at the same time.
//
// Over PCIe CUDA lets a GPU store to another GPU's memory even if it cannot add there as one
// operation (cudaDevP2PAttrNativeAtomicSupported). Counters then lose what ranks add. A process
// that cannot see the other's device cannot ask for that attribute, so the memory is tried out.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/cuda/shared/memory.h"
#include "runtime/cuda/watch/watch_page.h"

namespace tilepost::cuda {

// Passed by value, with device pointers. A rank has one word that all others add to, and then a
// word for each rank to store to.
struct AccessTest {
  uint32_t* of[kMostPeers];  // [1 + ranks] of each rank, all zero, as this rank addresses them
  int rank, ranks;
};

constexpr int kAccessTestThreads = 128;
constexpr uint32_t kAddsPerThread = 32;

// The value of a rank's word when `others` ranks have added to it.
constexpr uint32_t added_by(int others) {
  return static_cast<uint32_t>(others) * kAccessTestThreads * kAddsPerThread;
}
// What `source` stores with another rank.
__host__ __device__ constexpr uint32_t stored_by(int source) {
  return 0x9E3779B9u * static_cast<uint32_t>(source + 1);
}

// Adds to the other ranks' words and stores there.
cudaError_t launch_access_test(const AccessTest& test, cudaStream_t stream);

}  // namespace tilepost::cuda
