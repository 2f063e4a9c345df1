// Whether kernels of the user's own run on the CPU, by the shim, in place of a GPU.
#pragma once

#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/harness/work_dir.h"
#include "generator/plan/plan.h"

namespace tilepost {

// Why the plan's kernel cannot run on the CPU, or "". It may need what only a GPU has, take too
// long for `runs` runs, or not compile with the shim's headers in place of CUDA's. The last is
// tried in `dir`, where the files that the tool carries must be, with a compiler whose command
// begins with the words of `compiler`.
std::string obstacle_on_cpu(const Plan& plan, int runs, const std::vector<std::string>& compiler,
                            const WorkDir& dir, Diagnostics& diagnostics);

}  // namespace tilepost
