// What ranks tell each other: where they are, and, if they are to share memory, where that is.
//
// A host is what NCCL takes for one: NCCL_HOSTID where it is set, and otherwise the host's name
// with the number that Linux makes when it boots. So containers with names of their own are hosts
// of their own unless NCCL_HOSTID says otherwise. Unlike NCCL this reads the environment alone, not
// NCCL's configuration files.
//
// Only tests may have all ranks on one GPU. Each rank is then a process, and the driver lets their
// kernels take turns. Such tests are built with TILEPOST_TEST_ONE_GPU (tests/gpu/CMakeLists.txt).
// NCCL takes two ranks on a GPU only if it is told that they are on two hosts, so NCCL_HOSTID says
// nothing about hosts then.
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
  int64_t status;      // tilepost_result_t of getting the memory
  int64_t process[2];  // the same for ranks of one process only
  int64_t host[2];     // the same for ranks of one host only
  char host_name[32];  // for messages; cut off where it is longer
  int64_t bytes;       // that ranks share
  int64_t ordinal;     // of the device, within the process
  char bus[16];        // PCI bus id of the device
  int64_t address;     // of the memory, within the process
  int64_t has_handle;  // 0: CUDA gave none
  int64_t locks;       // token of the file of locks (mapping_locks.h); 0: this rank has not got it
  cudaIpcMemHandle_t handle;
};
constexpr size_t kPeerInfoNumbers = sizeof(PeerInfo) / sizeof(int64_t);
static_assert(sizeof(PeerInfo) % sizeof(int64_t) == 0);

// This rank's info but for its memory.
tilepost_result_t make_peer_info(int device, PeerInfo& info);

// The info as numbers, and all ranks' infos back from numbers, one after the other.
std::vector<int64_t> numbers_of(const PeerInfo& info);
std::vector<PeerInfo> peer_infos_of(std::span<const int64_t> numbers);

bool same_process(const PeerInfo& one, const PeerInfo& other);
bool same_host(const PeerInfo& one, const PeerInfo& other);
bool same_gpu(const PeerInfo& one, const PeerInfo& other);

// "rank 2 (device 3, 0000:41:00.0)".
std::string name_of(int rank, const PeerInfo& info);

// Enables peer access from the current device to `other`, a device of this process. cudaSuccess
// also where access is on already. It stays on: it belongs to the process, and others may have come
// to use it.
cudaError_t enable_peer_access(int other);

// Why these ranks cannot share memory, as far as their infos say it; empty if they may. Every rank
// finds the same.
std::string reason_not_to_share(std::span<const PeerInfo> infos);

}  // namespace tilepost::cuda
