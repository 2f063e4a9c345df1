#include "generator/profile/fit/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <tuple>

#include "generator/plan/kernels/kernels.h"
#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/sm80/sm80.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "runtime/map/cut_points.h"
#include "runtime/schedule/groups.h"

namespace tilepost {
namespace {

// No product of random extents is larger, so that one takes some milliseconds at most.
constexpr double kMostProducts = 5e11;

tilepost_map_t map_of(const GemmVariant& variant, int64_t m, int64_t n) {
  tilepost_map_t map = {};
  map.m = m;
  map.n = n;
  map.tile_m = variant.config.tile_m;
  map.tile_n = variant.config.tile_n;
  map.cluster = variant.request.cluster;
  map.band = variant.request.band;
  map.signals_per_tile = signals_per_tile(variant.config);
  map.layout = TILEPOST_PANEL;
  map.division = TILEPOST_DIVISION_ROWS;
  map.ranks = 1;
  return map;
}

std::string name_of_variant(const GemmVariant& variant) {
  const KernelConfig& config = variant.config;
  std::string name = fmt::format("{}_{}x{}_s{}_c{}", config.family->name(), config.tile_m,
                                 config.tile_n, config.stages, variant.request.cluster);
  if (config.across > 1) name += fmt::format("_a{}", config.across);
  if (config.split_k > 1) name += fmt::format("_k{}", config.split_k);
  if (config.ctas_per_sm > 1) name += fmt::format("_x{}", config.ctas_per_sm);
  if (config.family->is_swapped(config)) name += "_swapped";
  if (config.family == &sm90_family() && sm90_shape(config).pingpong) name += "_turns";
  if (row_of(variant.request.element).is_narrow())
    name += variant.request.accumulate == TILEPOST_PRECISE ? "_e4m3_precise" : "_e4m3";
  return name;
}

// Puts the cases of an architecture together.
class Maker {
 public:
  Maker(Arch arch, int sms, const MachineProfile& profile)
      : arch_(arch), sms_(sms), profile_(profile) {}

  GemmCases finish() {
    const auto key = [&](const GemmCase& one) {
      const KernelRequest& request = cases_.variants[one.variant].request;
      return std::tuple(one.m, one.n, one.k, static_cast<int>(request.element), one.variant,
                        one.ctas);
    };
    for (std::vector<GemmCase>* list : {&cases_.cool, &cases_.sustained})
      std::ranges::sort(*list, {}, key);
    return std::move(cases_);
  }

  // The index of a variant, which is made where there is none of its name.
  size_t variant(const KernelConfig& config, int cluster, tilepost_dtype_t input = TILEPOST_BF16,
                 tilepost_accumulate_t accumulate = TILEPOST_PRECISE) {
    GemmVariant made;
    Plan& plan = made.plan;
    plan.arch = arch_;
    plan.pattern = TILEPOST_GEMM;
    plan.ranks = 1;
    plan.input = input;
    plan.output = row_of(input).sums_to;
    plan.accumulate = accumulate;
    plan.map.m = plan.map.n = plan.k = 8192;
    made.config = config;
    made.request = request_for(plan);
    made.request.cluster = cluster;
    made.request.band = band_of(config, cluster, plan.map.m, profile_.gemm.band_rows);
    made.name = name_of_variant(made);
    for (size_t i = 0; i < cases_.variants.size(); ++i)
      if (cases_.variants[i].name == made.name) return i;
    plan.name = made.name;
    plan.profile = profile_.name;
    plan.gpu = profile_.gpu;
    plan.sms = sms_;
    plan.set_transport(TILEPOST_TRANSPORT_NONE);
    plan.set_kernel(make_kernel(config, made.request));
    // The plan has one cluster of tiles. Products that are measured have their own extents.
    plan.map = map_of(made, int64_t{config.tile_m} * cluster, config.tile_n);
    plan.gemm_ctas = cluster * ctas_of_tile(config);
    plan.set_cuts({static_cast<int32_t>(cut_units(plan.map))});
    plan.set_tile_map(build_tile_map(plan.map));
    cases_.variants.push_back(std::move(made));
    return cases_.variants.size() - 1;
  }

  const GemmVariant& of(size_t variant) const { return cases_.variants[variant]; }

  void cool(size_t variant, int64_t m, int64_t n, int64_t k, int ctas = 0) {
    if (ctas == 0) ctas = ctas_alone(profile_, of(variant), m, n, sms_);
    cases_.cool.push_back({variant, m, n, k, ctas});
  }
  void sustained(size_t variant, int64_t m, int64_t n, int64_t k) {
    const int ctas = ctas_alone(profile_, of(variant), m, n, sms_);
    cases_.cool.push_back({variant, m, n, k, ctas});
    cases_.sustained.push_back({variant, m, n, k, ctas});
  }
  void beside(size_t variant) { cases_.beside = {variant, 4096, 8192, 4096, sms_}; }

  // Products of full waves on `ctas` CTAs, for what a wave takes and what the clock does.
  void waves(size_t variant, int ctas, int64_t k) {
    const GemmVariant& made = of(variant);
    const int cluster = made.request.cluster * ctas_of_tile(made.config);
    ctas = ctas / cluster * cluster;
    constexpr int kColumns = 8;
    const int waves = k > 4096 ? 4 : 8;
    const int64_t tiles = int64_t{ctas} / ctas_of_tile(made.config) * waves;
    const int64_t high = tiles / kColumns / made.request.cluster * made.request.cluster;
    cool(variant, high * made.config.tile_m, int64_t{kColumns} * made.config.tile_n, k, ctas);
  }

  // Random products, each by the variants that the profile predicts to be among the fastest, and by
  // some others.
  void random(const std::vector<size_t>& variants, int products, int likely, int others,
              uint64_t seed) {
    std::mt19937_64 draw(seed);
    const auto uniform = [&](double least, double most) {
      const double part = static_cast<double>(draw() >> 11) * 0x1p-53;
      return static_cast<int64_t>(
          std::exp(std::log(least) + part * (std::log(most) - std::log(least))));
    };
    for (int i = 0; i < products;) {
      const int64_t m = uniform(129, 16384), n = uniform(1024, 16384) / 8 * 8;
      const int64_t k = uniform(512, 8192) / 8 * 8;
      if (static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) > kMostProducts)
        continue;
      ++i;
      std::vector<size_t> ranked = variants;
      std::ranges::stable_sort(ranked, {}, [&](size_t v) {
        const int ctas = ctas_alone(profile_, of(v), m, n, sms_);
        return GemmPrediction(of(v), m, n, k, ctas, false)(profile_);
      });
      const size_t first = std::min(ranked.size(), static_cast<size_t>(likely));
      std::shuffle(ranked.begin() + static_cast<ptrdiff_t>(first), ranked.end(), draw);
      ranked.resize(std::min(ranked.size(), first + static_cast<size_t>(others)));
      for (const size_t v : ranked) cool(v, m, n, k);
    }
  }

 private:
  const Arch arch_;
  const int sms_;
  const MachineProfile& profile_;
  GemmCases cases_;
};

// ---- Hopper

constexpr const char* kTimedRows[] = {"gemm_sm90/128x256/4", "gemm_sm90/128x256/2",
                                      "gemm_sm90/256x128/2", "gemm_sm90/128x192/3",
                                      "gemm_sm90/128x128/2"};

const KernelConfig* row_called(const std::string& row) {
  for (const KernelConfig& config : sm90_configs())
    if (config.row == row) return &config;
  return nullptr;
}

// Rows that have times of their own, on all SMs and on fewer, by K.
void add_timed_rows(Maker& maker, int sms) {
  for (const char* const row : kTimedRows) {
    const KernelConfig* const config = row_called(row);
    if (config == nullptr) continue;
    const size_t variant = maker.variant(*config, 2);
    for (const int ctas : {sms - 4, sms - 24})
      for (const int64_t k : {1024, 2048, 4096, 8192}) maker.waves(variant, ctas, k);
  }
  const KernelConfig& first = *row_called(kTimedRows[0]);
  const size_t variant = maker.variant(first, 2);
  for (const int left : {0, 12, 36, 52, 68}) maker.waves(variant, sms - left, 4096);
  for (const int cluster : {1, 4})
    for (const int64_t k : {2048, 4096}) maker.waves(maker.variant(first, cluster), sms - 12, k);
  maker.beside(variant);
  maker.sustained(variant, 8192, 8192, 4096);
  maker.sustained(variant, 4096, 8192, 8192);
}

// Every so many of the tiles that the formula predicts.
void add_formula_rows(Maker& maker) {
  constexpr size_t kEvery = 6;
  std::vector<size_t> variants;
  size_t index = 0;
  for (const KernelConfig& config : sm90_configs()) {
    if (is_for_tasks(config)) continue;
    const bool first_rows = index < 8;
    const bool chosen = first_rows || index % kEvery == 0;
    ++index;
    if (!chosen) continue;
    const int cluster = config.across == 1 && fits_cluster(config, 2) ? 2 : 1;
    variants.push_back(maker.variant(config, cluster));
    if (first_rows && index % 3 == 1) variants.push_back(maker.variant(config, 1));
    if (first_rows && index % 4 == 1) variants.push_back(maker.variant(config, 4));
  }
  maker.random(variants, 30, 8, 2, 4201);
}

void add_few_rows(Maker& maker, const MachineProfile& profile) {
  constexpr int64_t kProducts[][2] = {
      {4096, 4096}, {8192, 2048}, {4096, 7168}, {6144, 4112}, {6144, 4104}};
  for (const int64_t m : {16, 64, 128, 256}) {
    std::vector<KernelConfig> configs = small_configs(m, profile.gemm.in_flight_bytes);
    size_t made = 0;
    for (size_t i = 0; i < configs.size() && made < 3; i += 2, ++made) {
      const size_t variant = maker.variant(configs[i], 1);
      for (const auto& [n, k] : kProducts) maker.cool(variant, m, n, k);
    }
  }
}

void add_narrow(Maker& maker, int sms) {
  for (const tilepost_accumulate_t accumulate : {TILEPOST_FAST, TILEPOST_PRECISE}) {
    for (const KernelConfig& config : sm90_configs()) {
      Plan plan;
      plan.arch = Arch::sm_90a;
      plan.map.m = plan.map.n = plan.k = 8192;
      plan.input = TILEPOST_E4M3;
      plan.output = row_of(plan.input).sums_to;
      plan.accumulate = accumulate;
      if (!can_sum(config, plan) || !can_load(config, plan) || is_for_tasks(config)) continue;
      const size_t variant = maker.variant(config, 2, TILEPOST_E4M3, accumulate);
      for (const int64_t k : {2048, 4096, 8192}) maker.waves(variant, sms - 4, k);
      break;
    }
  }
}

// ---- Kernels of mma.sync

void add_ampere(Maker& maker, Arch arch, int sms) {
  const bool first = arch != Arch::sm_90a;
  std::vector<size_t> variants;
  for (const KernelConfig& config : sm80_configs(arch)) {
    const size_t variant = maker.variant(config, 1);
    variants.push_back(variant);
    for (const int64_t k : {1024, 4096}) maker.waves(variant, sms * config.ctas_per_sm, k);
  }
  if (first) {
    const size_t variant = variants.front();
    for (const int left : {sms / 16, sms / 8, sms / 4, sms / 2})
      maker.waves(variant, (sms - left) * maker.of(variant).config.ctas_per_sm, 4096);
    maker.beside(variant);
    maker.sustained(variant, 8192, 8192, 4096);
    maker.sustained(variant, 4096, 8192, 8192);
  }
  maker.random(variants, first ? 24 : 8, 4, 0, 4202);
}

}  // namespace

GemmCases cases_for(Arch arch, int sms, const MachineProfile& profile) {
  Maker maker(arch, sms, profile);
  if (arch == Arch::sm_90a) {
    add_timed_rows(maker, sms);
    add_formula_rows(maker);
    add_few_rows(maker, profile);
    add_narrow(maker, sms);
  }
  add_ampere(maker, arch, sms);
  return maker.finish();
}

GemmPrediction::GemmPrediction(const GemmVariant& variant, int64_t m, int64_t n, int64_t k,
                               int ctas, bool beside)
    : config_(variant.config),
      request_(variant.request),
      plan_(variant.plan),
      at_once_(std::max(1, ctas / ctas_of_tile(variant.config))) {
  plan_.map = map_of(variant, m, n);
  plan_.k = k;
  if (!beside) return;
  plan_.pattern = TILEPOST_GEMM_ALL_REDUCE;
  plan_.ranks = 2;
}

double GemmPrediction::operator()(const MachineProfile& profile) const {
  const GemmModel gemm = config_.family->model(profile, plan_, config_, request_);
  GroupProblem problem = {};
  problem.map = plan_.map;
  problem.at_once = at_once_;
  problem.model.start = gemm.start;
  problem.model.wave = gemm.wave_on(at_once_, config_.family->slower_alone(profile, plan_.map.m));
  problem.model.read_b = gemm.read_b;
  problem.model.read_row = gemm.read_row;
  return computed_us(problem, schedule_positions(plan_.map));
}

int ctas_alone(const MachineProfile& profile, const GemmVariant& variant, int64_t m, int64_t n,
               int sms) {
  const tilepost_map_t map = map_of(variant, m, n);
  Plan plan = variant.plan;
  plan.sms = sms;
  const int tile = ctas_of_tile(variant.config);
  const int cluster = variant.request.cluster * tile;
  const int most = resident_sms(profile, plan, cluster) * variant.config.ctas_per_sm;
  const int64_t wanted = schedule_positions(map) * tile;
  const int ctas = static_cast<int>(std::min<int64_t>(most, wanted)) / cluster * cluster;
  const int at_once = std::max(ctas / tile, variant.request.cluster);
  return static_cast<int>(least_at_once(map, schedule_waves(map, at_once))) * tile;
}

}  // namespace tilepost
