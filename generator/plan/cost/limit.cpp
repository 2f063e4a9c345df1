#include "generator/plan/cost/limit.h"

#include <algorithm>

#include "generator/plan/kernels/operands.h"
#include "runtime/map/moved_scales.h"

namespace tilepost {

std::optional<double> links_us(const Plan& plan) {
  if (plan.link_bytes_per_us == 0) return std::nullopt;
  if (row_of(plan).routes() && plan.routing != TILEPOST_ROUTING_EVEN) return std::nullopt;
  const auto row = static_cast<double>(
      row_of(plan).moves_input() ? moved_row_bytes(plan) : plan.map.n * bytes_of(plan.output));
  const double times = plan.pattern == TILEPOST_GEMM_ALL_REDUCE ? 2 : 1;
  return times * static_cast<double>(plan.map.m) * row * (plan.ranks - 1) / plan.ranks /
         plan.link_bytes_per_us;
}

std::optional<double> limit_us(const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  if (prediction.group_ready.empty()) return std::nullopt;
  double gemm = prediction.gemm;
  if (prediction.sequence_gemm > 0) gemm = std::min(gemm, prediction.sequence_gemm);
  if (!row_of(plan).communicates()) return gemm;
  const std::optional<double> links = links_us(plan);
  if (!links) return std::nullopt;
  return std::max(gemm, *links);
}

}  // namespace tilepost
