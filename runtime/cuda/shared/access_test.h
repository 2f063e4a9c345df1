// Whether memory that ranks share does what runs count on: other GPUs' stores arrive, and what
// several of them add to one word at the same time is all there.
//
// CUDA lets a GPU store to another's memory over PCIe that cannot add there as one operation
// (cudaDevP2PAttrNativeAtomicSupported): counters then lose what ranks add. A process that cannot
// see the other's device cannot ask for that, so it is tried.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/cuda/shared/memory.h"
#include "runtime/cuda/watch/watch_page.h"

namespace tilepost::cuda {

// By value; device pointers. A rank's words: what all others add to, then what each rank stores.
struct AccessTest {
  uint32_t* of[kMostPeers];  // [1 + ranks] of each rank, all zero, as this rank addresses them
  int rank, ranks;
};

constexpr int kAccessTestThreads = 128;
constexpr uint32_t kAddsPerThread = 32;

// What a rank's word has when `others` ranks have added to it.
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
