#include "runtime/cuda/shared/peer_info.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>

#include "runtime/cuda/device/check.h"

namespace tilepost::cuda {
namespace {

// Process ids repeat between containers of one host, so there is a random number besides.
int64_t random_of_process() {
  static const auto number = [] {
    std::random_device random;
    return static_cast<int64_t>((uint64_t{random()} << 32) | random());
  }();
  return number;
}

// Linux makes this number when it boots; containers see their host's. Where there is none, the
// host's name has to do.
std::string text_of_host() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  if (std::getline(file, text) && !text.empty()) return text;
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

int64_t hash(const std::string& text) {
  return static_cast<int64_t>(std::hash<std::string>{}(text));
}

}  // namespace

tilepost_result_t make_peer_info(int device, PeerInfo& info) {
  info = {};
  info.process[0] = random_of_process();
  info.process[1] = getpid();
  const std::string host = text_of_host();
  info.host[0] = hash(host);
  info.host[1] = hash("once more " + host);
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

std::string name_of(int rank, const PeerInfo& info) {
  const std::string bus(info.bus, strnlen(info.bus, sizeof info.bus));
  return "rank " + std::to_string(rank) + " (device " + std::to_string(info.ordinal) + ", " + bus +
         ")";
}

std::string reason_not_to_share(std::span<const PeerInfo> infos) {
  for (size_t r = 1; r < infos.size(); ++r)
    if (!same_host(infos[0], infos[r]))
      return name_of(0, infos[0]) + " and " + name_of(static_cast<int>(r), infos[r]) +
             " run on different hosts, and only ranks of one host can share memory";
  for (size_t r = 0; r < infos.size(); ++r)
    for (size_t other = 0; other < infos.size(); ++other)
      if (infos[r].has_handle == 0 && !same_process(infos[r], infos[other]))
        return name_of(static_cast<int>(r), infos[r]) + " and " +
               name_of(static_cast<int>(other), infos[other]) +
               " are different processes, and CUDA gave no handle to share memory between them";
  return {};
}

}  // namespace tilepost::cuda
