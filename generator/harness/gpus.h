// What the driver and NVML tell of this machine's GPUs before anything runs on them. Nothing of
// CUDA is linked.
#pragma once

#include <limits>
#include <string>

#include "generator/diagnostics.h"
#include "generator/plan/machine/profile.h"

namespace tilepost {

struct Gpus {
  int count = 0;
  int sm = 0;          // compute capability of the first GPU, for example 90
  std::string reason;  // why count is 0: "no driver (libcuda.so.1 cannot be loaded)"
  std::string name;    // of the first GPU: "NVIDIA H200"; "" if unknown
};

// The GPUs visible to this process (CUDA_VISIBLE_DEVICES applies), by asking the driver.
Gpus find_gpus();

// The processes that compute on the first `most` GPUs visible to this process, as NVML lists them:
// "process 4711 on GPU 0, process 4712 on GPU 1". "" if there are none, or if NVML does not tell.
// To be called before this process, or one that it has started, computes itself.
std::string other_users_of_gpus(int most = std::numeric_limits<int>::max());

// What the driver says of the visible GPUs: their number, the first one's name and the driver's
// version, as one line. "" without a driver.
std::string gpu_identity();

// Warns where the GPUs of this machine, or whether they reach each other's memory, are not as the
// profile has them that plans of several ranks were made with. NCCL_P2P_DISABLE=1 counts as GPUs
// that do not reach each other.
void warn_of_other_machine(const MachineProfile& profile, Diagnostics& diagnostics);

// Multiprocessors of the first visible GPU; 0 without a driver.
int gpu_sms();

}  // namespace tilepost
