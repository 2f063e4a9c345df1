// One program's grouped GEMM on one GPU, beside one GEMM of cuBLASLt for each expert
// (expert_gemms.h).
#pragma once

#include "runtime/bench/registry.h"
#include "runtime/bench/session.h"

namespace tilepost::bench {

// Prints check, note and sample records, as bench_gemm does. If a result was wrong, prints no times
// and returns false. Throws BenchError.
bool bench_grouped(const Entry& entry, const tilepost_plan_t& plan, const Session& session);

}  // namespace tilepost::bench
