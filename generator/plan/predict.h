// What a schedule takes: a few closed formulas over a machine profile, microseconds throughout.
//
// The model ranks schedules; it does not promise times. It has no noise in it: the same question
// gets the same answer.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/plan/kernels.h"
#include "generator/plan/plan.h"
#include "generator/plan/profile.h"

namespace tilepost {

// The GEMM as the model sees it: every CTA computes one tile in every wave.
struct GemmModel {
  double start = 0;  // before the first wave
  double wave = 0;   // one wave on a grid of `reference_ctas`
  double reference_ctas = 1;
  double least_factor = 0;  // of wave: no clock is higher
  double clock_gain = 0;    // a grid of x reference_ctas clocks x^-clock_gain as fast
  double memory = 0;        // per position, what reading its operands takes all SMs

  // When the first `positions` positions are done on a grid of `ctas`.
  double ready(int64_t positions, int ctas) const;
};

// The plan's product by one kernel. `beside_collective`: collectives run on other SMs meanwhile.
GemmModel model_gemm(const Plan& plan, const KernelConfig& config, const KernelRequest& request,
                     bool beside_collective);

// One collective as the model sees it.
struct CollectiveModel {
  double latency = 0;
  double per_byte = 0;
  double tail = 0;  // of the last collective, which no other lane hides

  double time(int64_t bytes) const { return latency + static_cast<double>(bytes) * per_byte; }
};

// The pattern's collectives: ring AllReduces on `ctas` CTAs per rank, `lanes` of them overlapping:
// the links are shared, the latency of one hides behind the others. `beside_gemm`: a GEMM runs
// meanwhile. Nothing takes no time.
CollectiveModel model_collective(Pattern pattern, int ranks, int ctas, int lanes, bool beside_gemm);

// From a counter's last raise to the start of the collective that waits for it.
double wait_us(Wait wait);

// The timeline of a finished plan: groups become ready in schedule order, each collective starts
// when its group is ready and its lane is free, and the links serve one after the other. `sequence`
// is the caller's to fill.
Prediction predict(const Plan& plan, const GemmModel& gemm);

}  // namespace tilepost
