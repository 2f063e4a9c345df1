// What a schedule takes: a few closed formulas over a machine profile, microseconds throughout.
//
// The model ranks schedules; it does not promise times. It has no noise in it: the same question
// gets the same answer.
#pragma once

#include <cstdint>
#include <string>

#include "generator/plan/cost/profile.h"
#include "generator/plan/kernels/kernels.h"
#include "generator/plan/plan.h"
#include "runtime/schedule/groups.h"

namespace tilepost {

// The GEMM as the model sees it: every CTA computes one tile in every wave.
struct GemmModel {
  double start = 0;  // before the first wave
  double wave = 0;   // one wave on a grid of `reference_ctas`
  double reference_ctas = 1;
  double least_factor = 0;          // of wave: no clock is higher
  double clock_gain = 0;            // a grid of x reference_ctas clocks x^-clock_gain as fast
  double read_b = 0, read_row = 0;  // tilepost_model_t

  // One wave on a grid that computes `at_once` positions, next to what makes it take `beside` times
  // as long.
  double wave_on(int at_once, double beside = 1) const;
};

// CTAs of one for each SM that are resident at once: clusters larger than a pair of SMs do not fit
// everywhere.
int resident_sms(const MachineProfile& profile, const Plan& plan, int cluster);

// The plan's product by one kernel, nothing beside it.
GemmModel model_gemm(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                     const KernelRequest& request);

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
