// One program's GEMM on one GPU, with the rows that rank 0 multiplies: first whether it is right,
// then how fast it is beside cuBLASLt.
#pragma once

#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"

namespace tilepost::bench {

// The SMs that the plan leaves to its GEMM; cuBLASLt gets as many. They are not the GEMM's grid,
// because to leave some of them idle is the kernel's own choice.
int gemm_sms(const tilepost_plan_t& plan, int device_sms);

// Prints check, reference, sample and note records. Returns false, and prints no times, if a result
// was wrong. Throws BenchError.
bool bench_gemm(const Entry& entry, const tilepost_plan_t& plan, const Session& session);

}  // namespace tilepost::bench
