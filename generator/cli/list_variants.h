// `tilepost list variants`: every specialisation of the GPU kernels that the planner may choose
// for a machine, for tests that compile them all.
#pragma once

#include "generator/plan/machine/profile.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

// A line per kernel, architecture, configuration, type, layout of B and accumulation:
//   gemm_sm80.cu 86 BAND=16 CTAS_PER_SM=1 EPILOGUE=* …
// the template, the digits of the architecture, the tunables; EPILOGUE=* where the planner may ask
// for any. Vectors are those of operands that ask for nothing.
void list_variants(llvm::raw_ostream& out, const MachineProfile& machine);

}  // namespace tilepost
