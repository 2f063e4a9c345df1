// The Ampere GEMM (templates/gemm_sm80.cu): mma.sync and asynchronous copies, for sm_80, sm_86 and
// sm_89, and on sm_90a for operands that TMA cannot address.
#pragma once

#include <vector>

#include "generator/plan/kernels/family.h"

namespace tilepost {

struct Sm80Shape : FamilyShape {
  int warp_m = 0, warp_n = 0;  // a warp's part of the tile
};

const KernelFamily& sm80_family();

// Its configurations for 16-bit inputs that fit the shared memory of `arch`, in order of
// preference; on sm_90a those of sm_80.
const std::vector<KernelConfig>& sm80_configs(Arch arch);

// The configurations for 8-bit inputs: on sm_89 and sm_90a, none elsewhere.
const std::vector<KernelConfig>& sm80_narrow_configs(Arch arch, tilepost_accumulate_t accumulate);

// The shape of a configuration of this family.
const Sm80Shape& sm80_shape(const KernelConfig& config);

}  // namespace tilepost
