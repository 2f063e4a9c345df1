#include "generator/plan/predict.h"

#include <algorithm>

#include "llvm/ADT/StringRef.h"

namespace tilepost {
namespace {

constexpr double kStreamWaitUs = 10;  // cuStreamWaitValue32, measured beside the poll's 3.6
constexpr double kMib = 1 << 20;
constexpr int64_t kElementBytes = 2;

double cluster_factor(const MachineProfile& profile, int cluster) {
  return cluster == 1 ? profile.cluster_1 : cluster == 4 ? profile.cluster_4 : 1.0;
}

double clock_ghz(const MachineProfile& profile, const ArchInfo& arch, const KernelConfig& config) {
  if (arch.arch != Arch::sm_90a) return arch.clock_ghz;
  const double m = config.tile_m, n = config.tile_n;
  return profile.clock_base - profile.clock_slope * (m + n) / (m * n);
}

// Of the tensor peak of an SM, inside the main loop.
double efficiency(const MachineProfile& profile, const ArchInfo& arch, const KernelConfig& config,
                  const KernelRequest& request) {
  if (llvm::StringRef(config.kernel) == "gemm_sm90")
    return config.efficiency * cluster_factor(profile, request.cluster);
  const double peak = arch.arch == Arch::sm_90a ? profile.mma_sync : 1.0;
  return config.efficiency * peak * interpolate(profile.load_vector, request.load_vector);
}

}  // namespace

GemmModel model_gemm(Arch arch, const KernelConfig& config, const KernelRequest& request, int64_t k,
                     bool beside_collective) {
  if (arch == Arch::host) return {};
  const MachineProfile& profile = h200_nvlink_profile();
  const ArchInfo& info = arch_info(arch);
  const double padded_k =
      static_cast<double>((k + config.tile_k - 1) / config.tile_k) * config.tile_k;
  const double flops = 2.0 * config.tile_m * config.tile_n * padded_k;
  // CTAs that share an SM share its tensor cores.
  const double cycles = flops * config.ctas_per_sm / info.tensor_flops_per_clock /
                            efficiency(profile, info, config, request) +
                        config.epilogue_cycles;
  const double ghz = clock_ghz(profile, info, config) * profile.sustained;
  return {profile.start_us,
          cycles / (ghz * 1000) * (beside_collective ? profile.beside_collective : 1.0)};
}

CollectiveModel model_all_reduce(int ranks, int ctas, int lanes, bool beside_gemm) {
  if (ranks == 1) return {};
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
  const CollectiveModel collective = model_all_reduce(plan.ranks, ctas, plan.comm_lanes, overlap);
  double served = 0;  // when the links are free
  for (const tilepost_group_t& group : plan.map.groups) {
    const double ready = gemm.ready(int64_t{group.first_tile} + group.num_tiles, plan.gemm_ctas);
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
