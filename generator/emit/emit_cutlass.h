// Emits a CUTLASS kernel whose author has made it with tilepost's scheduler and epilogue. Nothing
// of such a kernel is woven: generated code includes its source.
#pragma once

#include <string>

#include "generator/plan/plan.h"
#include "generator/weave/weave.h"

namespace tilepost {

// The lines that generated code has in front of its includes if it includes CUTLASS. They turn off
// assertions in CUTLASS's main loops, because ptxas finishes each wgmma before the next around an
// assertion (warning C7510).
std::string cutlass_preamble();

// The kernel of the plan, in a namespace `user`: its type, which is checked against the spec, the
// function that returns it as a pointer and the function that launches it. weave_marked() names
// these functions the same.
WovenKernel include_cutlass(const Plan& plan);

// `int launch(…)` as cut_plain_kernel() describes it (weave_unmarked.h), for the kernel with
// CUTLASS's own scheduler and epilogue. It uses the launcher of include_cutlass()'s kernel.
WovenKernel include_plain_cutlass(const Plan& plan);

}  // namespace tilepost
