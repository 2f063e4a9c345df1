#include "generator/plan/predict.h"

#include <algorithm>

namespace tilepost {
namespace {

constexpr double kStreamWaitUs = 10;  // cuStreamWaitValue32, measured beside the poll's 3.6
constexpr double kMib = 1 << 20;
constexpr int64_t kElementBytes = 2;

}  // namespace

CollectiveModel model_collective(Pattern pattern, int ranks, int ctas, int lanes,
                                 bool beside_gemm) {
  if (ranks == 1 || !communicates(pattern)) return {};
  const MachineProfile& profile = h200_nvlink_profile();
  // A ring sends 2 (ranks - 1) / ranks of the data from every rank; CTAs bound what a rank sends
  // per second, and so does its link.
  const auto sent = [](double world) { return 2 * (world - 1) / world; };
  const double busy = lanes > 1 ? ctas * profile.lane_share : ctas;
  const double by_ctas =
      interpolate(profile.us_per_mib, busy) * sent(ranks) / sent(profile.all_reduce_ranks);
  const double by_wire = interpolate(profile.wire_us_per_mib, ranks) * sent(ranks);
  const double factor = beside_gemm ? profile.beside_gemm : 1.0;
  const double latency = interpolate(profile.latency_us, ranks) * factor;
  return {latency / lanes, std::max(by_ctas, by_wire) / kMib * factor, latency - latency / lanes};
}

double wait_us(Wait wait) {
  return wait == Wait::stream ? kStreamWaitUs : h200_nvlink_profile().wait_us;
}

Prediction predict(const Plan& plan, const GemmModel& gemm) {
  Prediction prediction;
  if (plan.arch == Arch::host) return prediction;
  const bool overlap = plan.transport != Transport::none;
  const int ctas = overlap ? plan.comm_ctas : h200_nvlink_profile().default_ctas;
  const CollectiveModel collective =
      model_collective(plan.pattern, plan.ranks, ctas, plan.comm_lanes, overlap);
  double served = 0;  // when the links are free
  for (const tilepost_group_t& group : plan.map.groups) {
    const double ready = gemm.ready(int64_t{group.first_tile} + group.num_tiles, plan.at_once());
    const double waited = ready + (overlap ? wait_us(plan.wait) : 0.0);
    const size_t before = prediction.collective_end.size();
    const size_t lanes = static_cast<size_t>(plan.comm_lanes);
    const double lane_free = before < lanes ? 0 : prediction.collective_end[before - lanes];
    const double start = std::max(waited, lane_free);
    served = std::max(waited, served) + collective.time(group.count * kElementBytes);
    const double end = served + collective.tail;
    prediction.group_ready.push_back(ready);
    prediction.collective_start.push_back(start);
    prediction.collective_end.push_back(end);
    prediction.gemm = ready;
  }
  prediction.total = prediction.collective_end.empty() ? 0 : prediction.collective_end.back();
  return prediction;
}

}  // namespace tilepost
