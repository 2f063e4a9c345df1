// What the operands ask of a kernel: their types, how their rows are aligned, the epilogue.
#pragma once

#include <string>

#include "generator/plan/kernels/kernels.h"

namespace tilepost {

// Why the architecture cannot multiply the plan's inputs, "" if it can.
std::string why_not_input(const Plan& plan);

// Why TMA cannot address the operands, "" if it can.
std::string why_not_tma(const Plan& plan);

// The least number of elements that is not below `elements` and whose rows TMA and copies of 16
// bytes can address.
int64_t aligned(int64_t elements, tilepost_dtype_t type);

// Sums of a tile in a thread of gemm_sm90.
int sums_held(const KernelConfig& config, const Plan& plan);

// What a thread of gemm_sm90 may hold of a tile where it, or those that move data, need registers
// for an epilogue, for routing rows or for the tasks of a helper warp as well.
constexpr int kMostBesideMore = 128;

// Whether the configuration can sum the plan's inputs as asked in the registers it has.
bool can_sum(const KernelConfig& config, const Plan& plan);

// Whether the configuration can store the plan's rows where they go: routed ones are stored one by
// one, each by the thread that has it.
bool can_route(const KernelConfig& config, const Plan& plan);

// Whether the configuration can load the plan's operands: gemm_sm90 loads a B of [k, n] in slabs of
// 64 columns, whole ones.
bool can_load(const KernelConfig& config, const Plan& plan);

// What every kernel for the plan is specialised to; cluster and band are left open.
KernelRequest request_for(const Plan& plan);

// Adds what the exchange of tiles asks of the kernel of a plan whose shots are chosen.
void request_exchange(const Plan& plan, KernelRequest& request);

}  // namespace tilepost
