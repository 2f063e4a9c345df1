// The host GEMM (templates/gemm_host.cpp), and the one for experts (gemm_host_experts.cpp): a
// thread computes a tile, of any size.
#pragma once

#include "generator/plan/kernels/family.h"

namespace tilepost {

const KernelFamily& host_family();
const KernelFamily& host_experts_family();

// The configuration with a tile of the caller's choice.
KernelConfig host_config(int tile_m, int tile_n);
// The same of the family that serves the plan's pattern.
KernelConfig host_config(const Plan& plan, int tile_m, int tile_n);

// The configuration that a plan has where the spec asks for no tile. Its tile is 64x64, but no
// larger than the output needs in powers of two, and no lower than the unit of rows where kernels
// exchange tiles.
KernelConfig default_host_config(const Plan& plan, bool exchanges);

}  // namespace tilepost
