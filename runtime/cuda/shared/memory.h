// Memory of a rank that the other ranks read and write directly. Within one process ranks exchange
// pointers, and between processes they exchange CUDA's memory handles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/cuda/device/resources.h"
#include "runtime/cuda/shared/mapping_locks.h"
#include "runtime/cuda/shared/number_exchange.h"
#include "runtime/cuda/shared/peer_info.h"
#include "tilepost/tilepost.h"

namespace tilepost::cuda {

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  // Unmaps the others' memory and frees this rank's memory, unless leak() was called. Memory that
  // another process still maps is freed later; see free_unmapped().
  ~SharedMemory();

  // Allocates `bytes` bytes, zeroed, and maps them on all ranks. The rank's device must be current.
  // Collective: waits for the other ranks, bounded by `seconds` (0: for ever). Ranks exchange
  // addresses through `channel`, which is aborted when a rank does not come. If one rank fails, for
  // example to get memory, all ranks fail. TILEPOST_UNSUPPORTED: ranks are on different hosts, two
  // GPUs have no peer access, or CUDA cannot map memory of another process.
  tilepost_result_t create(ControlChannel& channel, int rank, int ranks, int device, int64_t bytes,
                           double seconds);

  bool exists() const { return own_ != nullptr; }
  int64_t bytes() const { return bytes_; }
  // How many bytes create() allocates for `bytes` bytes: whole blocks, because CUDA's handles
  // between processes are for whole blocks of memory.
  static int64_t allocated_for(int64_t bytes);
  // The address, on this rank, that is `at` bytes into the memory of `rank`.
  void* of(int rank, int64_t at) const { return static_cast<char*>(bases_[rank]) + at; }
  void* own(int64_t at) const { return static_cast<char*>(own_) + at; }
  int rank() const { return rank_; }
  int ranks() const { return static_cast<int>(bases_.size()); }

  // Frees memory that other processes had mapped, as far as they have unmapped it. Until then such
  // memory counts as left to the process. Any thread may call. It is also called when shared memory
  // is made or released.
  static void free_unmapped();

  // Leaves the memory to the process, for after a failure, when other ranks may still use it.
  void leak();

 private:
  // The reason why this rank could not map another rank's memory.
  struct Trouble {
    enum Kind : int64_t { none = 0, no_access = 1, not_mapped = 2 } kind = none;
    int peer = 0;
    std::string text;  // not_mapped: CUDA's text, on the rank that failed
  };

  tilepost_result_t share(ControlChannel& channel, int device, double seconds);
  tilepost_result_t allocate(int device, bool one_process, cudaStream_t stream, PeerInfo& info);
  tilepost_result_t allocate_from_pool(int device, size_t bytes, cudaStream_t stream);
  Trouble map_all(const std::vector<PeerInfo>& infos);
  Trouble map(int peer, const PeerInfo& own, const PeerInfo& info);
  Trouble map_within_process(int peer, const PeerInfo& own, const PeerInfo& info);
  Trouble grant(int peer, int other);
  Trouble enable_access(int peer, int other);
  Trouble map_between_processes(int peer, const PeerInfo& own, const PeerInfo& info);
  tilepost_result_t report(int rank, const Trouble& trouble,
                           const std::vector<PeerInfo>& infos) const;
  void release();
  void release_own();
  void forget();

  void* own_ = nullptr;
  int rank_ = 0;
  std::vector<void*> bases_;    // by rank
  std::vector<bool> opened_;    // by rank: whether the memory was mapped from another process
  MappingLocks locks_;          // between processes; none if one of the ranks could not open the
                                // file
  bool exported_ = false;       // whether other processes may map own_
  bool may_be_mapped_ = false;  // whether they may have mapped own_; read only without locks
  // The pool of own_, if all ranks are of this process. With a pool, access is granted to this
  // memory alone. cudaDeviceEnablePeerAccess would open all of a device's memory. From then on
  // every cudaMalloc and cudaFree of the process would wait for the other devices' kernels, which
  // may wait for the rank that calls it.
  cudaMemPool_t pool_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace tilepost::cuda
