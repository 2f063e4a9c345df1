// The catalogue's rows of gemm_sm90_small, which swaps the operands so that few rows of A cost what
// reading B costs, and lets several CTAs share the products of one tile.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/kernels/kernels.h"

namespace tilepost {

// The most rows of A it is offered for: with more, gemm_sm90 is bound by the tensor cores.
inline constexpr int64_t kMostSmallRows = 256;
// Up to here a tile has all of them.
inline constexpr int64_t kMostShortRows = 128;
// The same as kMostSmallRows where kernels exchange tiles.
inline constexpr int64_t kMostExchangedRows = 2048;

// Rows of a tile that a CTA has at least where kernels exchange tiles.
inline constexpr int kExchangeUnit = 8;

bool is_small(const KernelConfig& config);

// Rows of a box of C, where kernels exchange tiles.
int box_rows(const KernelConfig& config, const KernelRequest& request);

// The rows for A of m rows in order of preference; none above kMostExchangedRows. As many stages as
// keep `in_flight` bytes of operands on their way.
std::vector<KernelConfig> small_configs(int64_t m, int64_t in_flight);

// Whether a consumer's registers hold the sums of a tile: twice, if they are of e4m3 and `precise`,
// and beside what the epilogue takes.
bool holds_sums(const KernelConfig& config, bool precise, int epilogue);

// Dynamic shared memory of one CTA, bytes.
int64_t small_shared_bytes(const KernelConfig& config);

int small_threads(const KernelConfig& config);

// Completes the plan of a row whose tile, stages and common tunables are filled in.
void complete_small(const KernelConfig& config, const KernelRequest& request, KernelPlan& plan);

}  // namespace tilepost
