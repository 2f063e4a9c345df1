// Tests two properties that runs need of memory that ranks share: stores of other GPUs arrive, and
// no addition is lost when several GPUs add to one word at the same time.
//
// Over PCIe CUDA lets a GPU store to another GPU's memory even if it cannot add there atomically
// (cudaDevP2PAttrNativeAtomicSupported). Counters then lose additions. A process that cannot see
// the other's device cannot query that attribute, so the memory is tested.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "runtime/cuda/shared/memory.h"
#include "runtime/cuda/watch/watch_page.h"

namespace tilepost::cuda {

// The arguments, passed by value, with device pointers. A rank has one word that all others add to,
// and then a word for each rank to store to.
struct AccessTest {
  uint32_t* of[kMostPeers];  // [1 + ranks] the words of each rank, all zero, at the addresses that
                             // this rank uses
  int rank, ranks;
};

constexpr int kAccessTestThreads = 128;
constexpr uint32_t kAddsPerThread = 32;

// The value of a rank's word when `others` ranks have added to it.
constexpr uint32_t added_by(int others) {
  return static_cast<uint32_t>(others) * kAccessTestThreads * kAddsPerThread;
}
// The value that `source` stores in another rank's memory.
__host__ __device__ constexpr uint32_t stored_by(int source) {
  return 0x9E3779B9u * static_cast<uint32_t>(source + 1);
}

// Launches the kernel that adds to the other ranks' words and stores there.
cudaError_t launch_access_test(const AccessTest& test, cudaStream_t stream);

}  // namespace tilepost::cuda
