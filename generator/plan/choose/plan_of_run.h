// A run of a plan for any m, as a plan.
#pragma once

#include "generator/plan/plan.h"

namespace tilepost {

// What a run with `m` rows of a plan for any m executes, as a plan for that m: the runtime's choice
// (schedule_for), its map, waves and prediction. 1 <= m <= plan.map.m.
Plan plan_of_run(const Plan& plan, int64_t m);

}  // namespace tilepost
