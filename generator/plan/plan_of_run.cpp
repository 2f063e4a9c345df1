#include "generator/plan/draft.h"
#include "generator/plan/make_plan.h"
#include "generator/plan/predict.h"

namespace tilepost {
namespace {

tilepost_transport_t transport_of(const Plan& plan) {
  if (plan.transport == Transport::none) return TILEPOST_TRANSPORT_NONE;
  if (plan.arch == Arch::host) return TILEPOST_TRANSPORT_HOST;
  switch (plan.transport) {
    case Transport::copy_engine:
      return TILEPOST_TRANSPORT_COPY_ENGINE;
    case Transport::peer:
      return TILEPOST_TRANSPORT_PEER;
    case Transport::nccl_symmetric:
      return TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
    case Transport::automatic:
    case Transport::nccl:
    case Transport::none:
      break;
  }
  return TILEPOST_TRANSPORT_NCCL;
}

}  // namespace

tilepost_plan_t runtime_plan(const Plan& plan) {
  tilepost_plan_t runtime = {};
  runtime.pattern = static_cast<tilepost_pattern_t>(plan.pattern);
  runtime.routing = static_cast<tilepost_routing_t>(plan.routing);
  runtime.ranks = plan.ranks;
  runtime.k = plan.k;
  runtime.input = static_cast<tilepost_dtype_t>(plan.input);
  runtime.any_m = plan.any_m ? 1 : 0;
  runtime.model = plan.model;
  runtime.map = map_of(plan);
  runtime.gemm_ctas = plan.gemm_ctas;
  runtime.comm_lanes = plan.comm_lanes;
  runtime.transport = transport_of(plan);
  runtime.access = plan.access;
  runtime.pushes = plan.pushes ? 1 : 0;
  runtime.job_parts = plan.job_parts;
  runtime.sum = plan.sum == Sum::added ? TILEPOST_SUM_ADDED : TILEPOST_SUM_STAGED;
  runtime.pace = plan.pace;
  runtime.consumer = static_cast<tilepost_consumer_t>(plan.consumer);
  runtime.kernel.cluster = plan.kernel.launch_cluster;
  runtime.groups = plan.map.groups.data();
  return runtime;
}

Plan plan_of_run(const Plan& plan, int64_t m) {
  const RunSchedule schedule = schedule_for(runtime_plan(plan), m);
  Plan run = plan;
  run.m = m;
  run.any_m = false;
  run.division = static_cast<Division>(schedule.division);
  run.cuts = schedule.cuts;
  run.gemm_ctas = schedule.gemm_ctas;
  if (!schedule.overlaps) {
    run.transport = Transport::none;
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
