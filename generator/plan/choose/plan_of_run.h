// A run of a plan whose runs vary, as a plan.
#pragma once

#include "generator/plan/plan.h"

namespace tilepost {

// What a run of `m` rows executes, as a plan for that many: the runtime's choice (schedule_for),
// its map, waves and prediction. Where callers route rows of A, `m` is the most that a rank
// receives. Requires rows_vary(plan) and 1 <= m <= most_in_runs(plan).
Plan plan_of_run(const Plan& plan, int64_t m);
int64_t most_in_runs(const Plan& plan);

}  // namespace tilepost
