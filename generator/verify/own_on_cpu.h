// Finds out whether a kernel of the user's own can run on the CPU in place of a GPU. The shim
// (runtime/verify/host/shim) stands in for CUDA there.
#pragma once

#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/harness/work_dir.h"
#include "generator/plan/plan.h"

namespace tilepost {

// Why the plan's kernel cannot run on the CPU, or "". It may need what only a GPU has, take too
// long for `runs` runs, or not compile with the shim's headers in place of CUDA's. The function
// tries to compile it in `dir`, which must have the files that the tool carries. The words of
// `compiler` begin the compiler's command.
std::string obstacle_on_cpu(const Plan& plan, int runs, const std::vector<std::string>& compiler,
                            const WorkDir& dir, Diagnostics& diagnostics);

}  // namespace tilepost
