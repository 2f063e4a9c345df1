#include "runtime/cuda/shared/peer_info.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "runtime/cuda/device/check.h"
#include "runtime/map/fnv1a.h"

namespace tilepost::cuda {
namespace {

// Process ids repeat between containers of one host, so a process also has a random number.
int64_t random_of_process() {
  static const auto number = [] {
    std::random_device random;
    return static_cast<int64_t>((uint64_t{random()} << 32) | random());
  }();
  return number;
}

struct Host {
  std::string text;  // differs between hosts
  std::string name;
};

Host own_host() {
  const char* id = kRanksMayShareGpus ? nullptr : std::getenv("NCCL_HOSTID");
  if (id != nullptr && *id != '\0') return {id, id};
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  // Linux makes this id when it boots. Containers see the id of their host.
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string boot;
  std::getline(file, boot);
  return {name + boot, name};
}

// This is not std::hash, which may differ in another rank's build.
int64_t hash(const std::string& text) {
  Fnv1a hash;
  for (const char letter : text) hash.mix(static_cast<unsigned char>(letter));
  return static_cast<int64_t>(hash.value());
}

template <size_t kSize>
std::string text_of(const char (&text)[kSize]) {
  return {text, strnlen(text, kSize)};
}

}  // namespace

tilepost_result_t make_peer_info(int device, PeerInfo& info) {
  info = {};
  info.process[0] = random_of_process();
  info.process[1] = getpid();
  const Host host = own_host();
  info.host[0] = hash(host.text);
  info.host[1] = hash("once more " + host.text);
  host.name.copy(info.host_name, sizeof info.host_name);
  info.ordinal = device;
  TILEPOST_CUDA(cudaDeviceGetPCIBusId(info.bus, sizeof info.bus, device));
  return TILEPOST_OK;
}

std::vector<int64_t> numbers_of(const PeerInfo& info) {
  std::vector<int64_t> numbers(kPeerInfoNumbers);
  std::memcpy(numbers.data(), &info, sizeof info);
  return numbers;
}

std::vector<PeerInfo> peer_infos_of(std::span<const int64_t> numbers) {
  std::vector<PeerInfo> infos(numbers.size() / kPeerInfoNumbers);
  std::memcpy(infos.data(), numbers.data(), infos.size() * sizeof(PeerInfo));
  return infos;
}

bool same_process(const PeerInfo& one, const PeerInfo& other) {
  return std::ranges::equal(one.process, other.process) && same_host(one, other);
}

bool same_host(const PeerInfo& one, const PeerInfo& other) {
  return std::ranges::equal(one.host, other.host);
}

bool same_gpu(const PeerInfo& one, const PeerInfo& other) {
  return same_host(one, other) && std::ranges::equal(one.bus, other.bus);
}

std::string name_of(int rank, const PeerInfo& info) {
  return "rank " + std::to_string(rank) + " (device " + std::to_string(info.ordinal) + ", " +
         text_of(info.bus) + ")";
}

cudaError_t enable_peer_access(int other) {
  const cudaError_t error = cudaDeviceEnablePeerAccess(other, 0);
  if (error != cudaSuccess) cudaGetLastError();
  return error == cudaErrorPeerAccessAlreadyEnabled ? cudaSuccess : error;
}

std::string reason_not_to_share(std::span<const PeerInfo> infos) {
  for (size_t r = 1; r < infos.size(); ++r)
    if (!same_host(infos[0], infos[r]))
      return name_of(0, infos[0]) + " runs on host '" + text_of(infos[0].host_name) + "' and " +
             name_of(static_cast<int>(r), infos[r]) + " on host '" + text_of(infos[r].host_name) +
             "', and only ranks of one host can share memory (containers of one machine are one "
             "host where NCCL_HOSTID is the same in all of them)";
  for (size_t r = 0; r < infos.size(); ++r)
    for (size_t other = 0; other < infos.size(); ++other)
      if (infos[r].has_handle == 0 && !same_process(infos[r], infos[other]))
        return name_of(static_cast<int>(r), infos[r]) + " and " +
               name_of(static_cast<int>(other), infos[other]) +
               " are different processes, and CUDA gave no handle to share memory between them";
  return {};
}

}  // namespace tilepost::cuda
