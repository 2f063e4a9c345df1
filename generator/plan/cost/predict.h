// What a schedule takes: a few closed formulas over a machine profile, microseconds throughout.
//
// The model ranks schedules; it does not promise times. It has no noise in it: the same question
// gets the same answer.
#pragma once

#include <cstdint>
#include <string>

#include "generator/plan/kernels/gemm_model.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/plan.h"
#include "runtime/schedule/groups.h"

namespace tilepost {

// A copy of `bytes` bytes by a kernel on all SMs.
double copy_us(const MachineProfile& profile, double bytes);

// Bytes of what one unit of tilepost::GroupProblem::unit_bytes stands for.
int64_t unit_bytes(const Plan& plan, tilepost_division_t division);

// A number of the model as it stands in generated code, 9 digits, and what is read back: the
// runtime's is the planner's.
std::string number_text(double value);
double nine_digits(double value);

// Bytes that group `g` of a finished plan sends, or brings in.
int64_t bytes_of_group(const Plan& plan, size_t g);

// The timeline of a finished plan by plan.model: groups become ready in schedule order, each
// collective starts when its group is ready and its lane is free, and the links serve one after the
// other; where communication comes first, tiles wait for their chunk. `sequence` is the caller's to
// fill.
Prediction predict(const Plan& plan);

}  // namespace tilepost
