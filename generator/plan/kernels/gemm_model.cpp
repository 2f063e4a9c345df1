#include "generator/plan/kernels/gemm_model.h"

#include <algorithm>
#include <cmath>

#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"

namespace tilepost {
namespace {

constexpr int kSector = 32;  // bytes that L2 delivers at least

// Cycles of a stage's products at the power limit (KernelTimes::most_ghz), 0 without one.
double limited_cycles(const MachineProfile& profile, const KernelConfig& config,
                      const KernelRequest& request, const StageModel& stage, double products) {
  const KernelTimes& times = profile.gemm.times_of(config.row);
  if (times.most_ghz == 0) return 0;
  const double most = times.most_ghz * profile.gemm.clock_with(request.element);
  return products * stage.efficiency * std::max(stage.ghz / most, 1.0);
}

}  // namespace

double exchange_us(const MachineProfile& profile, const KernelConfig& config) {
  if (config.split_k == 1) return 0;
  const double kib = config.tile_m * config.tile_n * 4.0 / 1024;
  return profile.gemm.split_us +
         profile.gemm.split_us_per_kib * kib * (config.split_k - 1) / config.split_k;
}

double GemmModel::wave_on(int at_once, double beside) const {
  return wave * beside * std::max(std::pow(at_once / reference_ctas, clock_gain), least_factor);
}

int resident_sms(const MachineProfile& profile, const Plan& plan, int cluster) {
  if (cluster <= 2 || plan.arch != profile.arch) return plan.sms;
  return std::min(plan.sms, static_cast<int>(interpolate(profile.chip.resident_sms, cluster)));
}

bool starts_on_sectors(const Plan& plan, const KernelRequest& request) {
  return plan.k * bytes_of(request.element) % kSector == 0;
}

double off_the_grid(int64_t row_bytes, double off_lines, double off_sectors) {
  constexpr int kLine = 128;
  return row_bytes % kSector != 0 ? off_sectors : row_bytes % kLine != 0 ? off_lines : 1.0;
}

double multiply_cycles(const Plan& plan, const KernelConfig& config, const KernelRequest& request,
                       double efficiency) {
  const ArchInfo& arch = arch_info(plan.arch);
  const double flops =
      2.0 * config.tile_m * columns_of_cta(config) * tile_k(config, request.element);
  const double peak = arch.tensor_flops_per_clock * 2 / bytes_of(request.element);
  // CTAs that share an SM share its tensor cores.
  return flops * config.ctas_per_sm / peak / efficiency;
}

double delivered_bytes(const KernelConfig& config, const KernelRequest& request) {
  const double rows =
      1.0 * config.tile_m / config.across + 1.0 * columns_of_cta(config) / request.cluster;
  return rows * config.tile_k * 2;
}

// With rows that do not start on sectors L2 delivers a fifth sector for every four, and more. That
// takes `unaligned` times the cycles.
double delivery_cycles(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                       const KernelRequest& request) {
  return delivered_bytes(config, request) *
         (starts_on_sectors(plan, request) ? 1.0 : profile.gemm.unaligned) /
         profile.chip.l2_bytes_per_clock;
}

double stages_of_tile(const Plan& plan, const KernelConfig& config, const KernelRequest& request) {
  const int depth = tile_k(config, request.element);
  const int64_t all = (plan.k + depth - 1) / depth;
  return static_cast<double>((all + config.split_k - 1) / config.split_k);
}

TileModel tile_of_stages(const MachineProfile& profile, const Plan& plan,
                         const KernelConfig& config, const KernelRequest& request,
                         const StageModel& stage) {
  const double products = multiply_cycles(plan, config, request, stage.efficiency) * stage.more;
  const double cycles =
      stage.waits * std::max({products, stage.delivery,
                              limited_cycles(profile, config, request, stage, products)});
  TileModel tile;
  tile.cycles = stages_of_tile(plan, config, request) * cycles +
                profile.gemm.times_of(config.row).epilogue_cycles;
  tile.ghz = stage.ghz;
  tile.start_us = profile.gemm.start_us;
  return tile;
}

GemmModel gemm_of_tiles(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                        const KernelRequest& request, const TileModel& tile) {
  GemmModel model;
  model.start = tile.start_us + exchange_us(profile, config);
  model.wave = tile.cycles / (tile.ghz * 1000);
  model.reference_ctas = profile.chip.clock_sms * config.ctas_per_sm / config.across;
  const double row = static_cast<double>(plan.k) * bytes_of(request.element);
  model.read_row = row / profile.chip.memory_bytes_per_us;
  model.read_b = static_cast<double>(plan.map.n) * model.read_row;
  return model;
}

}  // namespace tilepost
