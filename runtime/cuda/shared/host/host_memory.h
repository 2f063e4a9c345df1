// Host memory as the system bounds it: where it lies, and why there may be none.
#pragma once

#include <cstdint>
#include <string>

namespace tilepost::cuda {

// Lets the pages of [memory, memory + bytes) that do not exist yet be made on the NUMA node of
// `device`, the current device. Does nothing where the node is not known: memory on another node is
// only slower.
void place_near(int device, void* memory, int64_t bytes);

// Where the system says what control groups there are, and which one this process is in.
struct ControlGroups {
  std::string root = "/sys/fs/cgroup", own = "/proc/self/cgroup";
};

// Why the control group of this process has no room for `bytes` more bytes: "the control group
// /job (memory.max 1.0 MiB, of which 0.9 MiB are used)". Empty if it has, or if that is not known.
// Memory beyond the limit would end the process when it is touched.
std::string why_no_room(int64_t bytes, const ControlGroups& groups = {});

// The limit on locked memory (ulimit -l) in words: "64 KiB", "unlimited".
std::string locked_memory_limit();

}  // namespace tilepost::cuda
