#include "generator/plan/cost/predict.h"
#include "generator/plan/draft.h"
#include "generator/plan/make_plan.h"

namespace tilepost {
namespace {

tilepost_transport_t transport_of(const Plan& plan) {
  if (plan.transport == TILEPOST_TRANSPORT_NONE) return TILEPOST_TRANSPORT_NONE;
  if (plan.arch == Arch::host) return TILEPOST_TRANSPORT_HOST;
  switch (plan.transport) {
    case TILEPOST_TRANSPORT_COPY_ENGINE:
      return TILEPOST_TRANSPORT_COPY_ENGINE;
    case TILEPOST_TRANSPORT_PEER:
      return TILEPOST_TRANSPORT_PEER;
    case TILEPOST_TRANSPORT_NCCL_SYMMETRIC:
      return TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
    default:
      break;
  }
  return TILEPOST_TRANSPORT_NCCL;
}

}  // namespace

tilepost_plan_t runtime_plan(const Plan& plan) {
  tilepost_plan_t runtime = {};
  runtime.pattern = plan.pattern;
  runtime.routing = plan.routing;
  runtime.ranks = plan.ranks;
  runtime.k = plan.k;
  runtime.input = plan.input;
  runtime.any_m = plan.any_m ? 1 : 0;
  runtime.model = plan.model;
  runtime.map = map_of(plan);
  runtime.gemm_ctas = plan.gemm_ctas;
  runtime.comm_lanes = plan.comm_lanes;
  runtime.transport = transport_of(plan);
  runtime.access = plan.access;
  runtime.pushes = plan.pushes ? 1 : 0;
  runtime.task_parts = plan.task_parts;
  runtime.sum = plan.sum;
  runtime.pace = plan.pace;
  runtime.consumer = plan.consumer;
  runtime.kernel.cluster = plan.kernel.launch_cluster;
  runtime.groups = plan.map.groups.data();
  return runtime;
}

Plan plan_of_run(const Plan& plan, int64_t m) {
  const RunSchedule schedule = schedule_for(runtime_plan(plan), m);
  Plan run = plan;
  run.m = m;
  run.any_m = false;
  run.division = schedule.division;
  run.cuts = schedule.cuts;
  run.gemm_ctas = schedule.gemm_ctas;
  if (!schedule.overlaps) {
    run.transport = TILEPOST_TRANSPORT_NONE;
    run.access = TILEPOST_ACCESS_MESSAGES;
    run.pushes = false;
    run.stagger = 0;
    run.pace = 0;
    run.comm_ctas = 0;
  }
  run.group_waves.assign(run.cuts.size(), 0);
  order_tiles(run);
  run.prediction = predict(run);
  return run;
}

}  // namespace tilepost
