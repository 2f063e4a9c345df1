// Makes plans: of a spec, of another plan for the host target, of one run of a plan for any m. This
// header is the public one of the planner's library and includes those that check and explain
// plans.
#pragma once

#include <memory>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/plan.h"
#include "generator/plan/report/explain.h"
#include "generator/plan/verify/verify_plan.h"

namespace tilepost {

// Plans every architecture of the spec for the machine of `profile`. An architecture has one plan
// or, for any m, may have several (choose/ranges.h), the one for the most rows first. Reports all
// that it cannot serve; empty if there was an error. `own` is what reading the spec's kernel found
// out about it (generator/own); the planner does not read kernels itself.
std::vector<Plan> make_plans(const Spec& spec, const MachineProfile& profile,
                             Diagnostics& diagnostics,
                             std::shared_ptr<const OwnKernel> own = nullptr);

// The plan on the host target. It has the same tiles, groups, counters and steps. gemm_host
// computes it on threads, and it is reduced in process.
Plan host_twin(const Plan& plan);

// The host twin of a plan with a kernel of the user's own. This kernel computes it, with its blocks
// on threads.
Plan cpu_twin(const Plan& plan);

}  // namespace tilepost
