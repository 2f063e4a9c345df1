// Makes plans: from a spec, and from another plan for the host target or for one run. This is the
// public header of the planner's library. It includes the headers that check and explain plans.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/choose/plan_of_run.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/pick.h"
#include "generator/plan/plan.h"
#include "generator/plan/report/explain.h"
#include "generator/plan/variant.h"
#include "generator/plan/verify/verify_plan.h"

namespace tilepost {

// Plans every architecture of the spec for the machine of `profile`. An architecture has one plan
// or, for any m, may have several (choose/ranges.h), the one for the most rows first. Reports
// everything in the spec that it cannot serve, and returns no plans if there was an error. `own`
// describes the spec's own kernel, as generator/own has read it: the planner does not read kernels
// itself.
std::vector<Plan> make_plans(const Spec& spec, const MachineProfile& profile,
                             Diagnostics& diagnostics,
                             std::shared_ptr<const OwnKernel> own = nullptr);

// Plans as above. Where `picks` has one for an architecture, its plan for the most rows becomes
// what was picked. Where the spec asks for something else, or the planner offers no such plan, says
// so and plans as without (choose/pick.cpp).
std::vector<Plan> make_plans(const Spec& spec, const MachineProfile& profile,
                             Diagnostics& diagnostics, std::shared_ptr<const OwnKernel> own,
                             std::span<const TunedPick> picks);

// Plans as the first one, and chooses only among plans whose kernels there are. Where one
// architecture has none, that is an error.
std::vector<Plan> make_plans(const Spec& spec, const MachineProfile& profile,
                             Diagnostics& diagnostics, const HasKernel& has_kernel);

// What runs of the spec with `rows` rows, where it takes as many, are predicted to take with each
// kernel that can serve them. Empty where the spec cannot be planned.
VariantTimes times_of_kernels(const Spec& spec, const MachineProfile& profile, Arch arch,
                              int64_t rows);

// The plans of one architecture that are worth measuring, at most `most` of them, all distinct. The
// first is that of make_plans for the most rows, and the others follow by their predicted times.
// For each of them, make_plans makes the same plan of pick_of(plan). There is one for the host
// target, where nothing is predicted. None after an error, which was reported.
std::vector<Plan> candidate_plans(const Spec& spec, const MachineProfile& profile, Arch arch,
                                  size_t most, Diagnostics& diagnostics,
                                  std::shared_ptr<const OwnKernel> own = nullptr);

// The plan as it runs on the host target. It has the same tiles, groups, counters and steps.
// gemm_host computes the tiles on threads, and the ranks' data moves within the process.
Plan host_twin(const Plan& plan);

// The host twin of a plan with a kernel of the user's own. The user's kernel computes the tiles,
// with its blocks on threads.
Plan cpu_twin(const Plan& plan);

}  // namespace tilepost
