// Where plans come from: a spec, another plan on the host target, a run of a plan for any m. With
// what checks a plan and what explains it, the door of the planner's library.
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

// Plans every architecture of the spec for such a machine, each by one plan or, for any m, by
// several (choose/ranges.h), the one for the most rows first. Reports all it cannot serve; empty if
// there was an error. `own` is what the spec's kernel was found to be by reading it, which the
// planner does not do itself (generator/own).
std::vector<Plan> make_plans(const Spec& spec, const MachineProfile& profile,
                             Diagnostics& diagnostics,
                             std::shared_ptr<const OwnKernel> own = nullptr);

// The same plan on the host target: same tiles, groups, counters and steps, computed by gemm_host
// on threads and reduced in process.
Plan host_twin(const Plan& plan);

// The same of a plan with a kernel of the user's own, computed by that, its blocks on threads.
Plan cpu_twin(const Plan& plan);

}  // namespace tilepost
