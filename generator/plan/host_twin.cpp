#include "generator/plan/kernels/operands.h"
#include "generator/plan/make_plan.h"

namespace tilepost {

Plan host_twin(const Plan& plan) {
  Plan twin = plan;
  KernelRequest request = request_for(plan);
  request.cluster = plan.kernel.cluster;  // keeps the padding and the order of the tiles
  request.band = plan.band;
  twin.arch = Arch::host;
  twin.kernel = make_kernel(host_config(plan.kernel.tile_m, plan.kernel.tile_n), request);
  twin.gemm_ctas = plan.at_once();  // one worker computes a tile, however many CTAs would
  twin.model.sequence_ctas = plan.model.sequence_ctas / plan.kernel.split_k;
  twin.kernel.ctas_per_sm = plan.kernel.ctas_per_sm;  // the budget's waves stay as planned
  twin.map = build_tile_map(map_of(twin));            // gemm_host raises its counters differently
  twin.map_hash = hash_tile_map(twin.map);
  twin.pace = 0;
  twin.sum = TILEPOST_SUM_STAGED;  // gemm_host stores and does not add
  twin.prediction = {};
  if (plan.arch != Arch::host)
    twin.reasons = {std::string("the plan for ") + name_of(plan.arch) + ", computed on the host"};
  return twin;
}

}  // namespace tilepost
