// Which of cuBLASLt's candidates is the fastest here: its first choice often is not.
#pragma once

#include "runtime/bench/cublas_lt.h"
#include "runtime/bench/timing.h"

namespace tilepost::bench {

// Times them all as `mode` has it and returns the one with the least median. Needs one.
int fastest_candidate(CublasLt& cublas, const Operands& operands, const Mode& mode, Timer& timer,
                      cudaStream_t stream);

}  // namespace tilepost::bench
