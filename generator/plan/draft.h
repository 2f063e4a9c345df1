// What the planner's passes hand on: the plan so far and the kernels that may still serve it.
#pragma once

#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/cuts.h"
#include "generator/plan/kernels.h"
#include "generator/plan/plan.h"

namespace tilepost {

// A kernel configuration that can serve the problem.
struct KernelChoice {
  KernelConfig config;
  KernelRequest request;
};

struct Draft {
  const Spec& spec;
  Diagnostics& diagnostics;
  Plan plan;
  std::vector<KernelChoice> kernels;  // in order of preference

  void because(std::string reason) { plan.reasons.push_back(std::move(reason)); }
  TileCover cover(const KernelChoice& kernel) const {
    return {plan.m,     plan.n, kernel.config.tile_m, kernel.config.tile_n, kernel.request.cluster,
            plan.layout};
  }
};

// A pass: completes part of the draft; false after it reported an error.
using Pass = bool (*)(Draft&);

// Lists the kernels that can serve the draft's architecture, shape and layout with what the spec
// asks for (select_kernels.cpp).
bool select_kernels(Draft& draft);

// Chooses kernel, transport, SM budget and groups together, the spec's wishes fixed
// (choose_schedule.cpp).
bool choose_schedule(Draft& draft);

// Checks the finished plan (verify_plan); what it finds is a bug of the planner.
bool verify_draft(Draft& draft);

}  // namespace tilepost
