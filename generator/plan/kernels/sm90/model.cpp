// The time of gemm_sm90. The tensor cores, what L2 delivers or how fast shared memory is filled
// bound the main loop's cycles, at the clock that the kernel leaves the chip. The result is
// combined with the time that memory takes for operands and output (Sm90Profile).
#include <algorithm>
#include <cmath>

#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "tilepost/internal/whole_numbers.h"

namespace tilepost {
namespace {

// Whether collectives, copies or tasks of products go on beside the tiles. Tiles with sums in their
// epilogue take as long as tiles alone.
bool moves_products(const Plan& plan, const KernelRequest& request) {
  return !request.fused && row_of(plan).communicates() && !row_of(plan).moves_input();
}

// Whether the profile has times of this configuration for plans like this one. Such times were
// measured beside collectives of products. Where rows of A arrive, the formula predicts all
// configurations.
bool has_own_times(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                   const KernelRequest& request) {
  return moves_products(plan, request) && profile.gemm.kernels.count(config.row) == 1;
}

double precise_factor(const MachineProfile& profile, const KernelRequest& request) {
  return sums_twice(request.element, request.accumulate) ? profile.gemm.precise : 1.0;
}

// The factor for scales of blocks (ScaledProfile).
double scaled_factor(const ScaledProfile& scaled, const KernelConfig& config,
                     const KernelRequest& request) {
  if (request.scales == TILEPOST_SCALES_NONE) return 1.0;
  if (sm90_shape(config).pingpong) return scaled.turns;
  return columns_of_cta(config) < TILEPOST_SCALE_BLOCK ? scaled.shared_narrow : scaled.shared;
}

// ---- By its own times

double ghz(const MachineProfile& profile, const KernelConfig& config,
           const KernelRequest& request) {
  double clock = profile.gemm.times_of(config.row).ghz;
  if (request.cluster == 1) clock *= profile.gemm.clusters_of_1;
  if (request.cluster == 4) clock *= profile.gemm.clusters_of_4;
  clock *= profile.gemm.clock_with(request.element);
  return clock * profile.gemm.sustained;
}

// Three stages do not hide how long unaligned rows take.
double wait_factor(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                   const KernelRequest& request) {
  return config.stages < 4 && !starts_on_sectors(plan, request) ? profile.gemm.few_stages : 1.0;
}

TileModel by_own_times(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                       const KernelRequest& request) {
  StageModel stage;
  stage.efficiency = profile.gemm.times_of(config.row).efficiency;
  stage.ghz = ghz(profile, config, request);
  stage.delivery = delivery_cycles(profile, plan, config, request);
  stage.more = precise_factor(profile, request);
  stage.waits = wait_factor(profile, plan, config, request);
  return tile_of_stages(profile, plan, config, request, stage);
}

// ---- By the formula

// Lines of shared memory that L2 delivers to an SM in one stage. Rows that do not start on lines of
// L2 count as more lines (off_the_grid).
double delivered_lines(const Sm90Profile& profile, const Plan& plan, const KernelConfig& config,
                       const KernelRequest& request) {
  const int64_t row_of_b = request.operands == TILEPOST_NN ? plan.map.n : plan.k;
  const auto slower = [&](int64_t length) {
    return off_the_grid(length * bytes_of(request.element), profile.off_lines, profile.off_sectors);
  };
  return slower(plan.k) * config.tile_m / config.across +
         slower(row_of_b) * columns_of_cta(config) / request.cluster;
}

// Cycles of a stage, of which `products` are those of the tensor cores alone.
double formula_cycles(const Sm90Profile& profile, const Plan& plan, const KernelConfig& config,
                      const KernelRequest& request, double products) {
  constexpr double kLineBytes = 128;
  const double delivery =
      delivered_lines(profile, plan, config, request) * kLineBytes / profile.l2_bytes_per_clock;
  const double line = moves_products(plan, request)
                          ? profile.fill_beside
                          : interpolate(profile.fill_cycles, request.cluster * config.across);
  const double fill = line * (config.tile_m + columns_of_cta(config));
  const auto power = [&](double cycles) { return std::pow(cycles, profile.sharpness); };
  return std::pow(power(products) + power(delivery) + power(fill), 1 / profile.sharpness);
}

TileModel by_formula(const MachineProfile& machine, const Plan& plan, const KernelConfig& config,
                     const KernelRequest& request) {
  const Sm90Profile& profile = machine.gemm.sm90;
  const Sm90Shape& shape = sm90_shape(config);
  const double stages = stages_of_tile(plan, config, request);
  const double products =
      multiply_cycles(plan, config, request, profile.efficiency) * precise_factor(machine, request);
  const double loop = stages * formula_cycles(profile, plan, config, request, products);
  const double thousands = 1.0 * config.tile_m * columns_of_cta(config) / 1000;
  const double once = thousands * (shape.pingpong ? profile.turn_cycles : profile.epilogue_cycles);
  const int ctas = request.cluster * config.across;
  const double gain = ctas == 1 ? profile.no_cluster : 1;
  const double least = stages * products * profile.efficiency / profile.most_efficiency * gain;
  TileModel tile;
  tile.cycles = std::max(loop + once, least);
  tile.ghz = profile.ghz * machine.gemm.sustained * gain;
  tile.ghz *= machine.gemm.clock_with(request.element);
  tile.start_us = profile.start_us + (ctas > 1 ? profile.clusters_us : 0) +
                  profile.end_us * thousands / sharers_of(shape);
  return tile;
}

// The time that memory takes for the operands and the output.
double memory_us(const MachineProfile& machine, const Plan& plan) {
  const auto m = static_cast<double>(plan.map.m), n = static_cast<double>(plan.map.n);
  const double operands = (m + n) * static_cast<double>(plan.k) * bytes_of(plan.input);
  const double output = m * n * bytes_of(plan.output);
  return (machine.gemm.sm90.reads * operands + machine.gemm.sm90.writes * output) /
         machine.chip.memory_bytes_per_us;
}

// Waves of the plan's tiles on its SMs, counted in clusters as launched.
int64_t waves_of(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                 const KernelRequest& request) {
  const int cluster = request.cluster * ctas_of_tile(config);
  const int64_t high = ceil_div(ceil_div(plan.map.m, config.tile_m), request.cluster);
  const int64_t clusters = high * ceil_div(plan.map.n, config.tile_n);
  const int ctas = resident_sms(profile, plan, cluster) * config.ctas_per_sm;
  return ceil_div(clusters, std::max(ctas / cluster, 1));
}

}  // namespace

GemmModel model_sm90(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                     const KernelRequest& request) {
  const bool own_times = has_own_times(profile, plan, config, request);
  const TileModel tile = own_times ? by_own_times(profile, plan, config, request)
                                   : by_formula(profile, plan, config, request);
  GemmModel model = gemm_of_tiles(profile, plan, config, request, tile);
  model.wave *= scaled_factor(profile.gemm.scaled, config, request);
  if (plan.map.m <= kMostShortRows) model.start += profile.gemm.sm90.short_us;
  model.clock_gain = profile.chip.clock_gain;
  model.least_factor = tile.ghz / profile.chip.max_ghz;
  if (own_times) return model;
  // Every wave has its part of the time that memory takes.
  const auto waves = static_cast<double>(waves_of(profile, plan, config, request));
  const double sharpness = profile.gemm.sm90.memory_sharpness;
  model.wave *= std::pow(1 + std::pow(memory_us(profile, plan) / (waves * model.wave), sharpness),
                         1 / sharpness);
  return model;
}

}  // namespace tilepost
