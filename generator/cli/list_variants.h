// `tilepost list variants`: every specialisation of the GPU kernels that the planner may choose
// for a machine, for tests that compile them all.
#pragma once

#include "generator/plan/machine/profile.h"
#include "llvm/Support/raw_ostream.h"

namespace tilepost {

// A line per kernel, architecture, configuration, type, layout of B and accumulation:
//   gemm_sm80.cu 86 BAND=16 CTAS_PER_SM=1 EPILOGUE=* …
// These are the template, the digits of the architecture, and the tunables. EPILOGUE=* means that
// the planner may ask for any epilogue. The widths of vectors are those for sizes that are
// multiples of every width.
void list_variants(llvm::raw_ostream& out, const MachineProfile& machine);

}  // namespace tilepost
