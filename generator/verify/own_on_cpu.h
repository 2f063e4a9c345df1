// Whether kernels of the user's own run on the CPU, by the shim, in place of a GPU.
#pragma once

#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/harness/work_dir.h"
#include "generator/plan/plan.h"

namespace tilepost {

// Why the plan's kernel cannot run there, or "": it has what only a GPU has, would take too long
// for `runs` runs, or does not compile with the shim's headers in place of CUDA's, which is tried
// in `dir` with the compiler whose words these are. `dir` has what the tool carries.
std::string obstacle_on_cpu(const Plan& plan, int runs, const std::vector<std::string>& compiler,
                            const WorkDir& dir, Diagnostics& diagnostics);

}  // namespace tilepost
