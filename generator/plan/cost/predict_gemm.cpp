// How long a GEMM takes: the main loop's cycles, bound by the tensor cores or by what L2 delivers,
// at the clock the kernel leaves the chip, and never less than reading the operands takes.
#include <algorithm>
#include <cmath>

#include "generator/plan/cost/predict.h"
#include "generator/plan/kernels/small_kernel.h"

namespace tilepost {
namespace {

constexpr int kSector = 32;  // bytes that L2 delivers at least

// Partial sums that a CTA sends to the others of its tile.
double exchange_us(const MachineProfile& profile, const KernelConfig& config) {
  if (config.split_k == 1) return 0;
  const double kib = config.tile_m * config.tile_n * 4.0 / 1024;
  return profile.split_us + profile.split_us_per_kib * kib * (config.split_k - 1) / config.split_k;
}

// Of the tensor peak of an SM, inside the main loop.
double efficiency(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                  const KernelRequest& request) {
  if (config.own) return config.own->spec.efficiency.value;
  const double measured = profile.times_of(config.row).efficiency;
  if (is_sm90(config) || is_small(config)) return measured;
  const double peak = plan.arch == Arch::sm_90a ? profile.mma_sync : 1.0;
  return measured * peak * interpolate(profile.load_vector, request.load_vector);
}

// Cycles that the tensor cores of an SM need for one stage of a tile.
double multiply_cycles(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                       const KernelRequest& request) {
  const ArchInfo& arch = arch_info(plan.arch);
  const double flops =
      2.0 * config.tile_m * columns_of_cta(config) * tile_k(config, request.element);
  const double peak = arch.tensor_flops_per_clock * 2 / bytes_of(request.element);
  const bool precise = request.element == TILEPOST_E4M3 && request.accumulate == TILEPOST_PRECISE;
  // CTAs that share an SM share its tensor cores.
  return flops * config.ctas_per_sm / peak / efficiency(profile, plan, config, request) *
         (precise && is_sm90(config) ? profile.precise : 1.0);
}

// Whether the rows of the operands start on sectors.
bool aligned(const Plan& plan, const KernelRequest& request) {
  return plan.k * bytes_of(request.element) % kSector == 0;
}

// Cycles until L2 has delivered one stage's operands to an SM. Cluster-mates share B, or A. Rows
// that do not start on a sector bring a fifth one for every four, and more.
double delivery_cycles(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                       const KernelRequest& request) {
  if (!is_sm90(config) && !is_small(config)) return 0;
  const double rows =
      1.0 * config.tile_m / config.across + 1.0 * columns_of_cta(config) / request.cluster;
  return rows * config.tile_k * 2 * (aligned(plan, request) ? 1.0 : profile.unaligned) /
         profile.l2_bytes_per_clock;
}

// Three stages do not hide how long unaligned rows take.
double wait_factor(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                   const KernelRequest& request) {
  return is_sm90(config) && config.stages < 4 && !aligned(plan, request) ? profile.short_of_stages
                                                                         : 1.0;
}

double ghz(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
           const KernelRequest& request) {
  if (!is_sm90(config) && !is_small(config)) return arch_info(plan.arch).clock_ghz;
  double clock = profile.times_of(config.row).ghz;
  if (is_small(config)) return clock;
  const int ctas = request.cluster * config.across;
  if (ctas == 1) clock *= profile.cluster_1;
  if (ctas == 4) clock *= profile.cluster_4;
  if (ctas == 8) clock *= profile.cluster_8;
  if (request.element == TILEPOST_E4M3) clock *= profile.e4m3;
  return clock * profile.sustained;
}

}  // namespace

double GemmModel::wave_on(int at_once, double beside) const {
  return wave * beside * std::max(std::pow(at_once / reference_ctas, clock_gain), least_factor);
}

GemmModel model_gemm(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                     const KernelRequest& request) {
  if (plan.arch == Arch::host) return {};
  const int depth = tile_k(config, request.element);
  const int64_t all_stages = (plan.k + depth - 1) / depth;
  const auto stages = static_cast<double>((all_stages + config.split_k - 1) / config.split_k);
  const double cycles = stages * wait_factor(profile, plan, config, request) *
                            std::max(multiply_cycles(profile, plan, config, request),
                                     delivery_cycles(profile, plan, config, request)) +
                        profile.times_of(config.row).epilogue_cycles;
  GemmModel model;
  model.start = profile.start_us + exchange_us(profile, config) +
                (config.pingpong ? profile.last_turn_us : 0);
  model.wave = cycles / (ghz(profile, plan, config, request) * 1000);
  model.reference_ctas = profile.clock_sms * config.ctas_per_sm / config.across;
  if (is_sm90(config)) {
    model.clock_gain = profile.clock_gain;
    model.least_factor = ghz(profile, plan, config, request) / profile.max_ghz;
  }
  const double row = static_cast<double>(plan.k) * bytes_of(request.element);
  model.read_row = row / profile.memory_bytes_per_us;
  model.read_b = static_cast<double>(plan.map.n) * model.read_row;
  return model;
}

}  // namespace tilepost
