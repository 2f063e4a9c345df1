// One program's GEMM on one GPU, with the rows that rank 0 multiplies: first whether it is right,
// then how fast it is beside cuBLASLt.
#pragma once

#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"

namespace tilepost::bench {

// SMs that the plan leaves to its GEMM: what cuBLASLt is held to. Not the GEMM's grid: to leave
// some of them idle is the kernel's own choice.
int gemm_sms(const tilepost_plan_t& plan, int device_sms);

// Prints check, reference, sample and note records. False, and no times, if a result was wrong.
// Throws BenchError.
bool bench_gemm(const Entry& entry, const tilepost_plan_t& plan, const Session& session);

}  // namespace tilepost::bench
