// What a plan computes, in words: one line for the reader of explain and of generated code.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// "C[2048, 8192] = this rank's rows of the sum over 4 ranks of A[8192, 2048] * B[8192, 2048]^T",
// the output called `out`.
std::string describe_product(const Plan& plan, const std::string& out);

// Why the panel layout is the default.
const char* panel_text(tilepost_pattern_t pattern);

// What rank 0 does for a group of a finished plan. Empty where only a route decides that.
std::vector<Step> planned_steps(const Plan& plan, size_t group);

// "reduce_scatter 4194304 -> 1048576, 1048576 for each rank": elements, of the buffers that
// runtime/map/steps.h names.
std::string describe_step(const Plan& plan, const Step& step);

// How often a run of rank 0 launches the GEMM.
int num_launches(const Plan& plan);

// "4 send, 4 receive"; announcements move nothing and are left out.
std::string count_steps(const Plan& plan, size_t group);

}  // namespace tilepost
