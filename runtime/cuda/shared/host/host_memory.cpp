#include "runtime/cuda/shared/host/host_memory.h"

#include <cuda_runtime_api.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <fstream>

namespace tilepost::cuda {
namespace {

constexpr int kPreferred = 1;  // MPOL_PREFERRED of mbind(2), whose header is libnuma's
constexpr int kMostNodes = 1024;

std::string mib(double bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", bytes / (1 << 20));
  return text;
}

// The number in a file of sysfs or cgroupfs. Returns false if there is none: "max" has no bound.
bool read_number(const std::string& path, int64_t& value) {
  std::ifstream file(path);
  return static_cast<bool>(file >> value);
}

// The NUMA node of the device; -1 if it is not known.
int node_of(int device) {
  std::array<char, 32> bus{};
  if (cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), device) != cudaSuccess) {
    cudaGetLastError();
    return -1;
  }
  std::string name = bus.data();
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  int64_t node = -1;
  read_number("/sys/bus/pci/devices/" + name + "/numa_node", node);
  return node >= 0 && node < kMostNodes ? static_cast<int>(node) : -1;
}

// The path of this process's control group (cgroups(7), version 2), without the mount point; empty
// if it has none.
std::string control_group(const std::string& own) {
  std::ifstream file(own);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("0::")) return line.substr(3);
  return {};
}

}  // namespace

void place_near(int device, void* memory, int64_t bytes) {
  const int node = node_of(device);
  if (node < 0) return;
  constexpr int kBits = 8 * sizeof(unsigned long);
  std::array<unsigned long, kMostNodes / kBits> mask{};
  mask[node / kBits] |= 1UL << (node % kBits);
  syscall(SYS_mbind, memory, static_cast<unsigned long>(bytes), kPreferred, mask.data(),
          static_cast<unsigned long>(kMostNodes), 0);
}

// A group's limit also binds the groups in it, so all groups up to the root are asked.
std::string why_no_room(int64_t bytes, const ControlGroups& groups) {
  for (std::string group = control_group(groups.own); !group.empty();) {
    const std::string folder = groups.root + group;
    int64_t most = 0, used = 0;
    if (read_number(folder + "/memory.max", most) &&
        read_number(folder + "/memory.current", used) && used + bytes > most)
      return "the control group " + group + " (memory.max " + mib(static_cast<double>(most)) +
             ", of which " + mib(static_cast<double>(used)) + " are used)";
    if (group == "/") return {};
    group.resize(group.rfind('/'));
    if (group.empty()) group = "/";
  }
  return {};
}

std::string locked_memory_limit() {
  struct rlimit limit {};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return std::to_string(limit.rlim_cur / 1024) + " KiB";
}

}  // namespace tilepost::cuda
