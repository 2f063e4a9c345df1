#include "generator/plan/choose/plan_of_run.h"

#include "generator/plan/choose/draft.h"
#include "generator/plan/cost/predict.h"
#include "runtime/schedule/groups.h"

namespace tilepost {

int64_t most_in_runs(const Plan& plan) {
  return is_routed(plan) ? plan.map.m : rows_of_runs(plan);
}

Plan plan_of_run(const Plan& plan, int64_t m) {
  Plan run = plan;
  run.map.m = m;
  if (row_of(plan).input_is_routed() && !is_routed(plan)) {  // an equal part from every rank
    run.rows_sent = m;
    run.map.m = (m + plan.ranks - 1) / plan.ranks * plan.ranks;
  }
  const RunSchedule schedule = schedule_for(plan, run.map.m);
  run.any_m = 0;
  run.gemm_ctas = schedule.gemm_ctas;
  if (!schedule.overlaps) {
    run.set_transport(TILEPOST_TRANSPORT_NONE);
    run.pushes = 0;
    run.reads_own = 0;
    run.row_gap = 0;
    run.whole_run = 0;
    run.shots = TILEPOST_SHOTS_NONE;
    run.map.stagger = run.map.turn = run.map.lag = 0;
    run.fused = 0;
    run.pace = 0;
    run.comm_ctas = 0;
  }
  set_division(run.map, run, schedule.division, run.access);
  run.set_cuts(schedule.cuts);
  run.group_waves.assign(run.cuts().size(), 0);
  order_tiles(run);
  run.prediction = predict(run);
  return run;
}

}  // namespace tilepost
