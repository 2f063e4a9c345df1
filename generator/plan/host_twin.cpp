#include "generator/plan/kernels/operands.h"
#include "generator/plan/make_plan.h"

namespace tilepost {

Plan host_twin(const Plan& plan) {
  Plan twin = plan;
  const KernelConfig config = host_config(plan.map.tile_m, plan.map.tile_n);
  KernelRequest request = request_for(plan);
  request.cluster = plan.map.cluster;  // keeps the padding and the order of the tiles
  request.band = plan.map.band;
  twin.arch = Arch::host;
  twin.set_transport(plan.planned_transport);
  twin.set_kernel(make_kernel(config, request));
  twin.gemm_ctas = plan.at_once();  // one worker computes a tile, however many CTAs would
  twin.model.sequence_ctas = plan.model.sequence_ctas / plan.source.split_k;
  twin.kernel.ctas_per_sm = plan.kernel.ctas_per_sm;     // the budget's waves stay as planned
  twin.map.signals_per_tile = signals_per_tile(config);  // gemm_host raises its counters otherwise
  twin.set_tile_map(build_tile_map(twin.map));
  twin.pace = 0;
  twin.sum = TILEPOST_SUM_STAGED;  // gemm_host stores and does not add
  twin.prediction = {};
  if (plan.arch != Arch::host)
    twin.reasons = {std::string("the plan for ") + name_of(plan.arch) + ", computed on the host"};
  return twin;
}

}  // namespace tilepost
