// What the operands ask of a kernel: their types, how their rows are aligned, the epilogue.
#pragma once

#include <string>

#include "generator/plan/kernels/config.h"

namespace tilepost {

// Bytes of an element.
int bytes_of(tilepost_dtype_t type);

// Why the architecture cannot multiply the plan's inputs, "" if it can.
std::string why_not_input(const Plan& plan);

// Why TMA cannot address the operands, "" if it can.
std::string why_not_tma(const Plan& plan);

// The least number of elements that is not below `elements` and whose rows TMA and copies of 16
// bytes can address.
int64_t aligned(int64_t elements, tilepost_dtype_t type);

// What every kernel for the plan is specialised to; cluster and band are left open.
KernelRequest request_for(const Plan& plan);

// Adds what the exchange of tiles asks of the kernel of a plan whose shots are chosen.
void request_exchange(const Plan& plan, KernelRequest& request);

}  // namespace tilepost
