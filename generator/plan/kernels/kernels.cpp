#include "generator/plan/kernels/kernels.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "generator/plan/kernels/host/host.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/sm80/sm80.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_experts/sm90_experts.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"

namespace tilepost {
namespace {

// Adds the tunables that every template declares.
void add_tunables(const KernelConfig& config, const KernelRequest& request, KernelPlan& plan) {
  plan.source.tunables["TILE_M"] = std::to_string(config.tile_m);
  plan.source.tunables["TILE_N"] = std::to_string(config.tile_n);
  plan.source.tunables["BAND"] = std::to_string(request.band);
  plan.source.tunables["ELEMENT"] = row_of(request.element).kernel_name;
  plan.source.tunables["OUTPUT"] = row_of(request.output).kernel_name;
  plan.source.tunables["EPILOGUE"] = std::to_string(request.epilogue);
  plan.source.tunables["NN"] = request.operands == TILEPOST_NN ? "1" : "0";
  if (request.scales != TILEPOST_SCALES_NONE)
    plan.source.tunables["SCALES"] = request.scales_a == TILEPOST_SCALES_ROWS ? "1" : "2";
  if (request.quantises) plan.source.tunables["QUANTISE"] = "1";
}

}  // namespace

const std::vector<const KernelFamily*>& families_of(Arch arch) {
  static const std::vector<const KernelFamily*> host = {&host_family()}, ampere = {&sm80_family()},
                                                hopper = {&sm90_small_family(), &sm90_family(),
                                                          &sm80_family()};
  switch (arch) {
    case Arch::host:
      return host;
    case Arch::sm_90a:
      return hopper;
    case Arch::sm_80:
    case Arch::sm_86:
    case Arch::sm_89:
      return ampere;
  }
  std::abort();
}

// The families of the plan's architecture that serve the plan's pattern.
const std::vector<const KernelFamily*>& families_for(const Plan& plan) {
  static const std::vector<const KernelFamily*> none, host = {&host_experts_family()},
                                                      hopper = {&sm90_experts_family()};
  if (!row_of(plan).has_experts()) return families_of(plan.arch);
  return plan.arch == Arch::host ? host : plan.arch == Arch::sm_90a ? hopper : none;
}

std::vector<KernelConfig> offered_configs(const Plan& plan, const MachineProfile& profile) {
  const std::vector<const KernelFamily*>& families = families_for(plan);
  std::vector<KernelConfig> configs;
  for (const KernelFamily* family : families) {
    const bool last = family == families.back() && families.size() > 1;
    if ((last && !configs.empty()) || !family->why_not(plan).empty()) continue;
    std::ranges::move(family->configs(plan, profile), std::back_inserter(configs));
  }
  return configs;
}

std::string why_not_preferred(const Plan& plan) {
  const std::vector<const KernelFamily*>& families = families_for(plan);
  return families.empty() ? "its kernels are for sm_90a and the host target"
                          : families.front()->why_not(plan);
}

int KernelFamily::tile_k(const KernelConfig& config, tilepost_dtype_t element) const {
  return config.tile_k * 2 / bytes_of(element);
}

bool KernelFamily::fits_cluster(const KernelConfig& config, int tiles) const {
  constexpr int kMostCtas =
      8;  // on every device (CUDA C++ Programming Guide, Thread Block Clusters)
  return tiles == 1 || tiles * config.across <= kMostCtas;
}

int64_t shared_bytes(const KernelConfig& config) {
  return config.family->shared_bytes(config);
}

int threads(const KernelConfig& config) {
  return config.family->threads(config);
}

int tile_k(const KernelConfig& config, tilepost_dtype_t element) {
  return config.family->tile_k(config, element);
}

int signals_per_tile(const KernelConfig& config) {
  return config.family->signals_per_tile(config);
}

bool fits_cluster(const KernelConfig& config, int tiles) {
  return config.family->fits_cluster(config, tiles);
}

bool can_sum(const KernelConfig& config, const Plan& plan) {
  if (plan.epilogue != 0 && !config.epilogue) return false;
  return config.family->holds_sums(config, plan);
}

bool can_route(const KernelConfig& config, const Plan& plan) {
  return !scatters_rows(plan) || config.family->stores_rows(config, plan);
}

bool can_load(const KernelConfig& config, const Plan& plan) {
  return config.family->can_load(config, plan);
}

bool stores_to_peers(const KernelConfig& config) {
  return config.family->stores_to_peers(config);
}

bool exchanges_tiles(const KernelConfig& config) {
  return config.family->exchanges_tiles(config);
}

bool stages_whole_tile(const KernelConfig& config) {
  return config.family->stages_whole_tile(config);
}

bool has_helper_warp(const KernelConfig& config, const Plan& plan) {
  return config.family->has_helper_warp(config, plan);
}

bool is_for_tasks(const KernelConfig& config) {
  return config.family->is_for_tasks(config);
}

KernelPlan make_kernel(const KernelConfig& config, const KernelRequest& request) {
  const KernelFamily& family = *config.family;
  KernelPlan plan;
  plan.kernel.name = family.name();
  plan.source.file = family.file();
  plan.kernel.launch = family.launch();
  plan.kernel.tile_k = tile_k(config, request.element);
  plan.source.stages = config.stages;
  plan.source.variant = family.variant(config);
  plan.kernel.threads = threads(config);
  plan.kernel.ctas_per_sm = config.ctas_per_sm;
  plan.kernel.shared_bytes = static_cast<int32_t>(shared_bytes(config));
  plan.source.exchanges_tiles = exchanges_tiles(config);
  add_tunables(config, request, plan);
  family.complete(config, request, plan);
  return plan;
}

int band_of(const KernelConfig& config, int cluster, int64_t m, int64_t rows) {
  const int64_t tile_rows = (m + config.tile_m - 1) / config.tile_m;
  const int64_t wanted = std::min(std::max<int64_t>(1, rows / config.tile_m), tile_rows);
  return static_cast<int>((wanted + cluster - 1) / cluster * cluster);
}

int pace_of(const KernelConfig& config, const Plan& plan, double paced) {
  return path_of(plan, true).stores_by_owner ? config.family->pace(config, plan, paced) : 0;
}

}  // namespace tilepost
