// How long a schedule takes: a few closed formulas over a machine profile, in microseconds
// throughout.
//
// The model ranks schedules; it does not promise times. It contains no noise: the same question
// gets the same answer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generator/plan/kernels/gemm_model.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/plan.h"
#include "runtime/schedule/groups.h"

namespace tilepost {

// Time of a copy of `bytes` bytes by a kernel on all SMs.
double copy_us(const MachineProfile& profile, double bytes);

// GroupProblem::unit_bytes of the plan if it is divided like this: the bytes of a row of A with
// ARRIVALS, otherwise of an element of the output.
int64_t unit_bytes(const Plan& plan, tilepost_division_t division);

// number_text is a number of the model as generated code states it, with 9 digits. nine_digits is
// what is read back from that, so that the runtime and the planner have the same number.
std::string number_text(double value);
double nine_digits(double value);

// Bytes that group `g` of a finished plan sends or brings in.
int64_t bytes_of_group(const Plan& plan, size_t g);

// When a run with these groups ends, us, if the padding tiles that fill up the clusters of every
// group are counted. The search for groups does not count them. 0 where padding does not matter:
// where tiles do not wait for rows of A, where each group is a launch of its own, without clusters,
// and for schedules so long that a few clusters make no difference.
double end_with_padding(const GroupProblem& problem, const std::vector<int32_t>& cuts);

// The timeline of a finished plan by plan.model. Groups become ready in schedule order. A
// collective starts when its group is ready and its lane is free, and the links serve one
// collective after the other. Where communication comes first, tiles wait for their chunk. The
// caller fills in `sequence` and `sequence_gemm`.
Prediction predict(const Plan& plan);

}  // namespace tilepost
