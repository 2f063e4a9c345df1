// How long a GEMM takes: the main loop's cycles, bound by the tensor cores, by what L2 delivers or
// by how fast shared memory is filled, at the clock the kernel leaves the chip, with what operands
// and output take of memory, and never less than reading the operands takes.
#include <algorithm>
#include <cmath>

#include "generator/plan/cost/predict.h"
#include "generator/plan/kernels/small_kernel.h"
#include "tilepost/internal/whole_numbers.h"

namespace tilepost {
namespace {

constexpr int kSector = 32;  // bytes that L2 delivers at least

// Partial sums that a CTA sends to the others of its tile.
double exchange_us(const MachineProfile& profile, const KernelConfig& config) {
  if (config.split_k == 1) return 0;
  const double kib = config.tile_m * config.tile_n * 4.0 / 1024;
  return profile.split_us + profile.split_us_per_kib * kib * (config.split_k - 1) / config.split_k;
}

// Whether the profile has times of this kernel for plans like this: those of gemm_sm90 are of rows
// beside collectives of products. Sums in their epilogue leave tiles as they are alone. Beside rows
// of A that arrive all are told apart by the formula.
bool has_own_times(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                   const KernelRequest& request) {
  return !is_sm90(config) ||
         (request.sources == 0 && row_of(plan).communicates() && !row_of(plan).moves_input() &&
          profile.kernels.count(config.row) == 1);
}

// Of the tensor peak of an SM, inside the main loop.
double efficiency(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                  const KernelRequest& request) {
  if (config.own) return config.own->spec.efficiency.value;
  const double measured = has_own_times(profile, plan, config, request)
                              ? profile.times_of(config.row).efficiency
                              : profile.sm90.efficiency;
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

// What L2 delivers to an SM in one stage. Cluster-mates share B, or A.
double delivered_bytes(const KernelConfig& config, const KernelRequest& request) {
  const double rows =
      1.0 * config.tile_m / config.across + 1.0 * columns_of_cta(config) / request.cluster;
  return rows * config.tile_k * 2;
}

// Cycles until it has done so. Rows that do not start on sectors bring a fifth one for every four,
// and more: `unaligned` times the cycles.
double delivery_cycles(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                       const KernelRequest& request) {
  return delivered_bytes(config, request) * (aligned(plan, request) ? 1.0 : profile.unaligned) /
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
  if (request.cluster == 1) clock *= profile.cluster_1;
  if (request.cluster == 4) clock *= profile.cluster_4;
  if (request.element == TILEPOST_E4M3) clock *= profile.e4m3;
  return clock * profile.sustained;
}

// Cycles of a stage's products at the power limit (KernelTimes::most_ghz).
double limited_cycles(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                      const KernelRequest& request) {
  const KernelTimes& times = profile.times_of(config.row);
  if (times.most_ghz == 0) return 0;
  const double most = times.most_ghz * (request.element == TILEPOST_E4M3 ? profile.e4m3 : 1.0);
  return multiply_cycles(profile, plan, config, request) *
         efficiency(profile, plan, config, request) *
         std::max(ghz(profile, plan, config, request) / most, 1.0);
}

// What a kernel's tile takes.
struct TileModel {
  double cycles, ghz, start_us;
  double memory_us = 0;  // of all tiles, which their waves hide in part
};

TileModel by_own_times(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                       const KernelRequest& request, double stages) {
  // What L2 delivers to the other kernels is not known.
  const double delivery =
      is_sm90(config) || is_small(config) ? delivery_cycles(profile, plan, config, request) : 0;
  const double stage = wait_factor(profile, plan, config, request) *
                       std::max({multiply_cycles(profile, plan, config, request), delivery,
                                 limited_cycles(profile, plan, config, request)});
  TileModel tile;
  tile.cycles = stages * stage + profile.times_of(config.row).epilogue_cycles;
  tile.ghz = ghz(profile, plan, config, request);
  tile.start_us = profile.start_us;
  return tile;
}

// Cycles in which L2 delivers rows of `length` elements, against ones that start on its lines.
double off_the_grid(const Sm90Profile& profile, const KernelRequest& request, int64_t length) {
  constexpr int kLine = 128;
  const int64_t bytes = length * bytes_of(request.element);
  return bytes % kSector != 0 ? profile.off_sectors : bytes % kLine != 0 ? profile.off_lines : 1.0;
}

// Lines of shared memory that L2 delivers to an SM in one stage, ones off its own lines counted as
// so many more.
double delivered_lines(const Sm90Profile& profile, const Plan& plan, const KernelConfig& config,
                       const KernelRequest& request) {
  const int64_t row_of_b = request.operands == TILEPOST_NN ? plan.map.n : plan.k;
  return off_the_grid(profile, request, plan.k) * config.tile_m / config.across +
         off_the_grid(profile, request, row_of_b) * columns_of_cta(config) / request.cluster;
}

// Cycles of a stage of the formula, of which `products` are those of the tensor cores alone.
double stage_cycles(const Sm90Profile& profile, const Plan& plan, const KernelConfig& config,
                    const KernelRequest& request, double products) {
  constexpr double kLineBytes = 128;
  const double delivery =
      delivered_lines(profile, plan, config, request) * kLineBytes / profile.l2_bytes_per_clock;
  const bool beside =
      request.sources == 0 && row_of(plan).communicates() && !row_of(plan).moves_input();
  const double line = beside ? profile.fill_beside
                             : interpolate(profile.fill_cycles, request.cluster * config.across);
  const double fill = line * (config.tile_m + columns_of_cta(config));
  const auto power = [&](double cycles) { return std::pow(cycles, profile.sharpness); };
  return std::pow(power(products) + power(delivery) + power(fill), 1 / profile.sharpness);
}

// What memory takes for the operands and the output.
double memory_us(const MachineProfile& machine, const Plan& plan) {
  const auto m = static_cast<double>(plan.map.m), n = static_cast<double>(plan.map.n);
  const double operands = (m + n) * static_cast<double>(plan.k) * bytes_of(plan.input);
  const double output = m * n * bytes_of(plan.output);
  return (machine.sm90.reads * operands + machine.sm90.writes * output) /
         machine.memory_bytes_per_us;
}

TileModel by_formula(const MachineProfile& machine, const Plan& plan, const KernelConfig& config,
                     const KernelRequest& request, double stages) {
  const Sm90Profile& profile = machine.sm90;
  const double products = multiply_cycles(machine, plan, config, request);
  const double loop = stages * stage_cycles(profile, plan, config, request, products);
  const double thousands = 1.0 * config.tile_m * columns_of_cta(config) / 1000;
  const double once = thousands * (config.pingpong ? profile.turn_cycles : profile.epilogue_cycles);
  const int ctas = request.cluster * config.across;
  const double gain = ctas == 1 ? profile.cluster_1 : 1;
  const double least = stages * products * profile.efficiency / profile.most_efficiency * gain;
  TileModel tile;
  tile.cycles = std::max(loop + once, least);
  tile.ghz = profile.ghz * machine.sustained * gain;
  if (request.element == TILEPOST_E4M3) tile.ghz *= machine.e4m3;
  tile.start_us = profile.start_us + (ctas > 1 ? profile.clusters_us : 0) +
                  profile.end_us * thousands / sharers_of(config);
  tile.memory_us = memory_us(machine, plan);
  return tile;
}

// Waves of the plan's tiles on its SMs, of clusters as launched.
int64_t waves_of(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                 const KernelRequest& request) {
  const int cluster = request.cluster * ctas_of_tile(config);
  const int64_t high = ceil_div(ceil_div(plan.map.m, config.tile_m), request.cluster);
  const int64_t clusters = high * ceil_div(plan.map.n, config.tile_n);
  const int ctas = resident_sms(profile, plan, cluster) * config.ctas_per_sm;
  return ceil_div(clusters, std::max(ctas / cluster, 1));
}

}  // namespace

double GemmModel::wave_on(int at_once, double beside) const {
  return wave * beside * std::max(std::pow(at_once / reference_ctas, clock_gain), least_factor);
}

int resident_sms(const MachineProfile& profile, const Plan& plan, int cluster) {
  if (cluster <= 2 || plan.arch != profile.arch) return plan.sms;
  return std::min(plan.sms, static_cast<int>(interpolate(profile.resident_sms, cluster)));
}

GemmModel model_gemm(const MachineProfile& profile, const Plan& plan, const KernelConfig& config,
                     const KernelRequest& request) {
  if (plan.arch == Arch::host) return {};
  const int depth = tile_k(config, request.element);
  const int64_t all_stages = (plan.k + depth - 1) / depth;
  const auto stages = static_cast<double>((all_stages + config.split_k - 1) / config.split_k);
  const TileModel tile = has_own_times(profile, plan, config, request)
                             ? by_own_times(profile, plan, config, request, stages)
                             : by_formula(profile, plan, config, request, stages);
  GemmModel model;
  model.start = tile.start_us + exchange_us(profile, config);
  if (is_sm90(config) && plan.map.m <= kMostShortRows) model.start += profile.sm90.short_us;
  model.wave = tile.cycles / (tile.ghz * 1000);
  model.reference_ctas = profile.clock_sms * config.ctas_per_sm / config.across;
  if (is_sm90(config)) {
    model.clock_gain = profile.clock_gain;
    model.least_factor = tile.ghz / profile.max_ghz;
  }
  const double row = static_cast<double>(plan.k) * bytes_of(request.element);
  model.read_row = row / profile.memory_bytes_per_us;
  model.read_b = static_cast<double>(plan.map.n) * model.read_row;
  if (tile.memory_us == 0) return model;
  // Every wave has its part of what memory takes.
  const auto waves = static_cast<double>(waves_of(profile, plan, config, request));
  model.wave *=
      std::pow(1 + std::pow(tile.memory_us / (waves * model.wave), profile.sm90.memory_sharpness),
               1 / profile.sm90.memory_sharpness);
  return model;
}

}  // namespace tilepost
