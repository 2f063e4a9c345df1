// The plan as generated code states it.
#pragma once

#include "generator/plan/plan.h"

namespace tilepost {

// The structure that the runtime executes: the plan without the numbers that nothing reads, which
// are zero, and without functions. Its pointers point into `plan`, which must outlive it.
tilepost_plan_t stated_plan(const Plan& plan);

}  // namespace tilepost
