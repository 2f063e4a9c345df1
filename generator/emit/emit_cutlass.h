// A kernel of CUTLASS's, which its author has made with tilepost's scheduler and epilogue: nothing
// of it is woven, and its source is included.
#pragma once

#include <string>

#include "generator/plan/plan.h"
#include "generator/weave/weave.h"

namespace tilepost {

// What generated code says in front of its includes where one of the sources is CUTLASS's. It has
// assertions in its main loops, around which ptxas finishes every wgmma by itself (C7510).
std::string cutlass_preamble();

// The kernel as the plan names it: its type, held against the spec, what it is as a pointer and
// what launches it, in a namespace `user`, as weave_marked() has them.
WovenKernel include_cutlass(const Plan& plan);

// `int launch(…)` of cut_plain_kernel() (weave_unmarked.h): the kernel with CUTLASS's own scheduler
// and epilogue, by the launcher of the other.
WovenKernel include_plain_cutlass(const Plan& plan);

}  // namespace tilepost
