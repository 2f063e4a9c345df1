// The few-row Hopper GEMM (templates/gemm_sm90_small.cu): it swaps the operands so that few rows of
// A cost what reading B costs, and lets several CTAs share the products of one tile. Its kernels
// can exchange tiles with those of other ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/kernels/family.h"

namespace tilepost {

// The most rows of A that the kernel is offered for. With more rows gemm_sm90 is bound by the
// tensor cores.
inline constexpr int64_t kMostSmallRows = 256;
// Up to this number of rows of A one tile has all of them.
inline constexpr int64_t kMostShortRows = 128;
// The most rows of A that the kernel is offered for where kernels exchange tiles.
inline constexpr int64_t kMostExchangedRows = 2048;

const KernelFamily& sm90_small_family();

// Its configurations for A of m rows in order of preference; none above kMostExchangedRows. They
// have as many stages as keep `in_flight` bytes of operands on their way. `scales`: stages have
// room for scales of A's blocks.
std::vector<KernelConfig> small_configs(int64_t m, int64_t in_flight, bool scales = false);

}  // namespace tilepost
