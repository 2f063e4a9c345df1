// What ranks exchange about themselves: where they are, and if they are to share memory, where that
// memory is.
//
// A host is what NCCL takes for one: NCCL_HOSTID if it is set, and otherwise the host's name with
// the id that Linux makes when it boots. So containers with names of their own count as hosts of
// their own unless NCCL_HOSTID is the same in them. Unlike NCCL this code reads only the
// environment, not NCCL's configuration files.
//
// Only tests may have all ranks on one GPU. Each rank is then a process, and the driver lets the
// processes' kernels take turns. Such tests are built with TILEPOST_TEST_ONE_GPU
// (tests/gpu/CMakeLists.txt). NCCL takes two ranks on a GPU only if they seem to be on two hosts,
// so NCCL_HOSTID differs between ranks of one host then.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/core/error.h"

namespace tilepost::cuda {

#ifdef TILEPOST_TEST_ONE_GPU
constexpr bool kRanksMayShareGpus = true;
#else
constexpr bool kRanksMayShareGpus = false;
#endif

struct PeerInfo {
  int64_t status;      // tilepost_result_t of allocating the memory
  int64_t process[2];  // equal only for ranks of one process
  int64_t host[2];     // equal only for ranks of one host
  char host_name[32];  // for messages; may be cut off
  int64_t bytes;       // how many bytes ranks share
  int64_t ordinal;     // the number of the device within the process
  char bus[16];        // PCI bus id of the device
  int64_t address;     // the address of the memory within the process
  int64_t has_handle;  // 0 if CUDA gave no handle
  int64_t locks;       // the token of the file of locks (mapping_locks.h); 0 if this rank has not
                       // opened it
  cudaIpcMemHandle_t handle;
};
constexpr size_t kPeerInfoNumbers = sizeof(PeerInfo) / sizeof(int64_t);
static_assert(sizeof(PeerInfo) % sizeof(int64_t) == 0);

// Makes this rank's info without its memory.
tilepost_result_t make_peer_info(int device, PeerInfo& info);

// numbers_of() turns an info into numbers. peer_infos_of() turns the numbers of all ranks, one
// after the other, back into infos.
std::vector<int64_t> numbers_of(const PeerInfo& info);
std::vector<PeerInfo> peer_infos_of(std::span<const int64_t> numbers);

bool same_process(const PeerInfo& one, const PeerInfo& other);
bool same_host(const PeerInfo& one, const PeerInfo& other);
bool same_gpu(const PeerInfo& one, const PeerInfo& other);

// A text such as "rank 2 (device 3, 0000:41:00.0)".
std::string name_of(int rank, const PeerInfo& info);

// Enables peer access from the current device to `other`, a device of this process. Returns
// cudaSuccess if access is on already. Access stays on, because it belongs to the process, and
// other code may have come to use it.
cudaError_t enable_peer_access(int other);

// The reason why these ranks cannot share memory, as far as their infos show it; empty if they may.
// Every rank gets the same answer.
std::string reason_not_to_share(std::span<const PeerInfo> infos);

}  // namespace tilepost::cuda
