// Which of a program's plans serves a GPU, and whether the GPU has room for it.
//
// Rules. A plan for arch 90 holds sm_90a code and serves exactly compute capability 9.0. A plan for
// arch 80, 86 or 89 serves its own major version from its own minor version on (binary
// compatibility within a major version: CUDA C++ Programming Guide, "Binary Compatibility"). Among
// several the highest arch wins.
#pragma once

#include <string>

#include "runtime/core/error.h"
#include "runtime/cuda/device/device.h"

namespace tilepost::cuda {

// Whether a kernel for `arch` runs on compute capability `sm`: sm_90a's instructions exist on 9.0
// only (CUDA C++ Programming Guide, "Feature Availability"), the others' on every later GPU.
// Whether the program holds code for the device is found out when its kernel is loaded.
bool serves(int arch, int sm);

// The best plan for the device. The error TILEPOST_UNSUPPORTED names the archs of the program and
// of the device.
tilepost_result_t select_plan(const tilepost_program_t& program, const DeviceInfo& device,
                              const tilepost_plan_t*& plan);

// Checks the plan against the communicator's size and the device's SMs. While the GEMM runs, its
// CTAs, NCCL's and the waiter's must all have a place, or the group that they wait for never comes.
tilepost_result_t check_plan(const tilepost_program_t& program, const tilepost_plan_t& plan,
                             const DeviceInfo& device, int world);

// Text about what is not wrong, but not as planned either; empty when there is nothing to say.
std::string plan_warnings(const tilepost_plan_t& plan, const DeviceInfo& device);

}  // namespace tilepost::cuda
