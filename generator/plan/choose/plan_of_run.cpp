#include "generator/plan/choose/plan_of_run.h"

#include "generator/plan/choose/draft.h"
#include "generator/plan/cost/predict.h"
#include "runtime/map/groups.h"

namespace tilepost {

Plan plan_of_run(const Plan& plan, int64_t m) {
  const RunSchedule schedule = schedule_for(plan, m);
  Plan run = plan;
  run.map.m = m;
  run.any_m = 0;
  run.gemm_ctas = schedule.gemm_ctas;
  if (!schedule.overlaps) {
    run.set_transport(TILEPOST_TRANSPORT_NONE);
    run.pushes = 0;
    run.map.stagger = 0;
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
