// Chooses which of a program's plans serves a GPU, and checks that the GPU has room for it.
//
// A plan for arch 90 holds sm_90a code and serves only compute capability 9.0. A plan for arch 80,
// 86 or 89 serves its own major version from its own minor version on (binary compatibility within
// a major version: CUDA C++ Programming Guide, "Binary Compatibility"). Of several plans that serve
// a GPU, the one for the highest arch is chosen.
#pragma once

#include <string>

#include "runtime/core/error.h"
#include "runtime/core/ranges.h"
#include "runtime/cuda/device/device.h"

namespace tilepost::cuda {

// Whether a kernel for `arch` runs on compute capability `sm`. sm_90a's instructions exist only on
// 9.0 (CUDA C++ Programming Guide, "Feature Availability"). The other archs' instructions exist on
// every later GPU. Whether the program holds code for the device shows only when its kernel is
// loaded.
bool serves(int arch, int sm);

// Chooses the best plan for the device. TILEPOST_UNSUPPORTED: no plan serves it. The error names
// the archs of the program and of the device.
tilepost_result_t select_plan(const tilepost_program_t& program, const DeviceInfo& device,
                              const tilepost_plan_t*& plan);

// Checks the plan against the communicator's size and the device's SMs. While the GEMM runs, its
// CTAs, NCCL's and the waiter's must all have a place. Otherwise a group that they wait for never
// comes.
tilepost_result_t check_plan(const tilepost_program_t& program, const tilepost_plan_t& plan,
                             const DeviceInfo& device, int world);

// Chooses a program's plans for the device, and checks them as far as this rank alone can.
tilepost_result_t choose_plans(const tilepost_program_t& program, const DeviceInfo& device,
                               int world, PlanRanges& plans);

// Text about what works but differs from what the plan expects. It is empty if nothing differs.
std::string plan_warnings(const tilepost_plan_t& plan, const DeviceInfo& device);

}  // namespace tilepost::cuda
