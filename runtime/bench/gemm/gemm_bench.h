// One program's GEMM on one GPU, with the rows that rank 0 multiplies. First its results are
// checked. Then it is timed beside cuBLASLt.
#pragma once

#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"

namespace tilepost::bench {

// The number of SMs that the plan leaves to its GEMM. cuBLASLt gets as many. This is not the size
// of the GEMM's grid, because the kernel may choose to leave some of these SMs idle.
int gemm_sms(const tilepost_plan_t& plan, int device_sms);

// Prints check, reference, sample and note records. If a result was wrong, prints no times and
// returns false. Throws BenchError.
bool bench_gemm(const Entry& entry, const tilepost_plan_t& plan, const Session& session);

}  // namespace tilepost::bench
