// Makes a plan of one run of a plan whose runs vary.
#pragma once

#include "generator/plan/plan.h"

namespace tilepost {

// What a run of `m` rows executes, as a plan for that many rows: the schedule that the runtime
// chooses (schedule_for), with its map, waves and prediction. Where callers route rows of A, `m` is
// the most rows that a rank receives. Requires rows_vary(plan) and 1 <= m <= most_in_runs(plan).
Plan plan_of_run(const Plan& plan, int64_t m);
int64_t most_in_runs(const Plan& plan);

}  // namespace tilepost
