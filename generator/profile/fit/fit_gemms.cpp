// The constants of GEMM kernels, fitted to products alone on a cool chip.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "generator/plan/kernels/sm80/sm80.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "generator/profile/fit/fit.h"
#include "generator/profile/fit/variants.h"

namespace tilepost {
namespace {

using GemmParameter = FitParameter<MachineProfile>;
using GemmObservation = Observation<MachineProfile>;
using Get = std::function<double&(MachineProfile&)>;

constexpr double kNear = 12;  // how much more the fastest kernels of a product count

// A measured product with the variant that computed it.
struct Timed {
  const GemmVariant* variant;
  const Measurement* time;

  int64_t m() const { return static_cast<int64_t>((*time)["m"]); }
  int64_t n() const { return static_cast<int64_t>((*time)["n"]); }
  int64_t k() const { return static_cast<int64_t>((*time)["k"]); }
  double us() const { return (*time)["us"]; }
  const KernelFamily* family() const { return variant->config.family; }
  bool is_narrow() const { return row_of(variant->request.element).is_narrow(); }
  uint64_t group() const {
    return static_cast<uint64_t>(m()) * 1000003 + static_cast<uint64_t>(n()) * 8191 +
           static_cast<uint64_t>(k());
  }
};

// The products of one mode, by variants that are still in the catalogue. Times that are the host's
// are left out.
std::vector<Timed> timed(const Measurements& measurements, const GemmCases& cases,
                         const std::string& mode) {
  constexpr double kHostBound = 0.5;
  std::vector<Timed> all;
  for (const Measurement* time : measurements.select("gemm")) {
    if (time->text("mode") != mode || (*time)["host_bound"] > kHostBound) continue;
    for (const GemmVariant& variant : cases.variants)
      if (variant.name == time->text("kernel")) all.push_back({&variant, time});
  }
  return all;
}

// Observations of the products that satisfy a condition. The faster a variant is among those that
// computed the same product, the more it counts: plans take the fastest.
template <class Condition>
std::vector<GemmObservation> observe(const std::vector<Timed>& all, bool beside,
                                     Condition condition) {
  std::map<uint64_t, double> best;
  for (const Timed& each : all)
    if (condition(each)) {
      double& least = best.emplace(each.group(), each.us()).first->second;
      least = std::min(least, each.us());
    }
  std::vector<GemmObservation> observations;
  for (const Timed& each : all) {
    if (!condition(each)) continue;
    GemmObservation seen;
    seen.us = each.us();
    seen.group = each.group();
    seen.weight = 1 / (1 + kNear * (each.us() / best.at(each.group()) - 1));
    seen.predict = GemmPrediction(*each.variant, each.m(), each.n(), each.k(),
                                  static_cast<int>((*each.time)["ctas"]), beside);
    observations.push_back(std::move(seen));
  }
  return observations;
}

int fitted(const std::vector<GemmObservation>& observations) {
  return static_cast<int>(std::ranges::count_if(
      observations, [](const GemmObservation& seen) { return !is_held_out(seen.group); }));
}

// Fits the parameters and enters that in the report, or leaves all as it is where too little was
// measured.
void fit_part(MachineProfile& profile, const std::string& what,
              const std::vector<GemmParameter>& parameters,
              const std::vector<GemmObservation>& observations, FitReport& report) {
  if (observations.empty()) return;
  const FitError error = fit(profile, parameters, observations);
  report.parts.push_back(
      {fmt::format("{}, {} constants", what, parameters.size()), error, fitted(observations)});
  for (const GemmParameter& parameter : parameters) report.measured.push_back(parameter.path);
}

GemmParameter ratio(const char* path, Get at, double least = 0.2, double most = 5) {
  return {path, std::move(at), least, most};
}

// The entry of a table at x, which is made where there is none.
Get point(std::vector<ProfilePoint>& (*table)(MachineProfile&), double x) {
  return [table, x](MachineProfile& profile) -> double& {
    for (ProfilePoint& each : table(profile))
      if (each.x == x) return each.y;
    return table(profile).emplace_back(ProfilePoint{x, interpolate(table(profile), x)}).y;
  };
}

std::vector<ProfilePoint>& fill_cycles(MachineProfile& profile) {
  return profile.gemm.sm90.fill_cycles;
}

// `ghz` has no step, for a faster clock has the effect of more efficiency, and most_efficiency has
// none, for it is a bound that only large products show (tests/gpu/rows/rows.py).
std::vector<GemmParameter> formula_parameters() {
  std::vector<GemmParameter> all = {
      {"chip.clock_gain", [](MachineProfile& p) -> double& { return p.chip.clock_gain; }, 0, 1}};
  const auto add = [&](const char* path, double Sm90Profile::*field, double least, double most) {
    all.push_back(
        {path, [field](MachineProfile& p) -> double& { return p.gemm.sm90.*field; }, least, most});
  };
  add("gemm.sm90.efficiency", &Sm90Profile::efficiency, 0.3, 1.3);
  add("gemm.sm90.most_efficiency", &Sm90Profile::most_efficiency, 0.3, 1.3);
  add("gemm.sm90.l2_bytes_per_clock", &Sm90Profile::l2_bytes_per_clock, 10, 400);
  add("gemm.sm90.off_lines", &Sm90Profile::off_lines, 1, 6);
  add("gemm.sm90.off_sectors", &Sm90Profile::off_sectors, 1, 9);
  add("gemm.sm90.sharpness", &Sm90Profile::sharpness, 1, 40);
  add("gemm.sm90.epilogue_cycles", &Sm90Profile::epilogue_cycles, 0, 400);
  add("gemm.sm90.turn_cycles", &Sm90Profile::turn_cycles, 0, 400);
  add("gemm.sm90.no_cluster", &Sm90Profile::no_cluster, 0.7, 1.2);
  add("gemm.sm90.start_us", &Sm90Profile::start_us, 0, 30);
  add("gemm.sm90.clusters_us", &Sm90Profile::clusters_us, 0, 30);
  add("gemm.sm90.end_us", &Sm90Profile::end_us, 0, 2);
  add("gemm.sm90.reads", &Sm90Profile::reads, 0, 8);
  add("gemm.sm90.writes", &Sm90Profile::writes, 0, 8);
  add("gemm.sm90.memory_sharpness", &Sm90Profile::memory_sharpness, 1, 40);
  for (const double ctas : {1, 2, 4})
    all.push_back({"gemm.sm90.fill_cycles", point(fill_cycles, ctas), 0.3, 8});
  return all;
}

void fit_formula(const std::vector<Timed>& all, MachineProfile& profile, FitReport& report) {
  fit_part(profile, "gemm_sm90 by its formula", formula_parameters(),
           observe(all, false,
                   [](const Timed& each) {
                     return each.family() == &sm90_family() && !each.is_narrow();
                   }),
           report);
}

// The rows that were timed beside collectives. Efficiency and clock have the same effect, so only
// the clock is fitted. Other rows are beside collectives as the formula says.
void fit_timed_rows(const std::vector<Timed>& all, MachineProfile& profile, FitReport& report) {
  constexpr int kRowsOfK = 64;  // products whose rows of K start on lines of L2
  std::vector<GemmParameter> parameters;
  std::set<std::string> rows;
  const auto wanted = [&](const Timed& each) {
    return each.family() == &sm90_family() && !each.is_narrow() && each.k() % kRowsOfK == 0 &&
           profile.gemm.kernels.count(each.variant->config.row) == 1;
  };
  for (const Timed& each : all)
    if (wanted(each)) rows.insert(each.variant->config.row);
  for (const std::string& row : rows) {
    const std::string path = fmt::format("gemm.kernels.{}", row);
    const auto of_row = [row](double KernelTimes::*field) {
      return [row, field](MachineProfile& p) -> double& { return p.gemm.kernels.at(row).*field; };
    };
    parameters.push_back({path + ".ghz", of_row(&KernelTimes::ghz), 0.3, 5});
    parameters.push_back(
        {path + ".epilogue_cycles", of_row(&KernelTimes::epilogue_cycles), 0, 2e4});
  }
  parameters.push_back(ratio("gemm.clusters_of_1",
                             [](MachineProfile& p) -> double& { return p.gemm.clusters_of_1; }));
  parameters.push_back(ratio("gemm.clusters_of_4",
                             [](MachineProfile& p) -> double& { return p.gemm.clusters_of_4; }));
  fit_part(profile, "gemm_sm90 by rows' own times", parameters, observe(all, true, wanted), report);
}

void fit_few_rows(const std::vector<Timed>& all, MachineProfile& profile, FitReport& report) {
  const auto add = [](const char* path, double GemmProfile::*field, double least, double most) {
    return GemmParameter{path, [field](MachineProfile& p) -> double& { return p.gemm.*field; },
                         least, most};
  };
  const auto of_row = [](double KernelTimes::*field) {
    return [field](MachineProfile& p) -> double& {
      return p.gemm.kernels.at("gemm_sm90_small").*field;
    };
  };
  fit_part(
      profile, "gemm_sm90_small",
      {{"gemm.kernels.gemm_sm90_small.efficiency", of_row(&KernelTimes::efficiency), 0.1, 1.3},
       {"gemm.kernels.gemm_sm90_small.epilogue_cycles", of_row(&KernelTimes::epilogue_cycles), 0,
        2e4},
       add("gemm.start_us", &GemmProfile::start_us, 0.5, 30),
       add("gemm.split_us", &GemmProfile::split_us, 0, 10),
       add("gemm.split_us_per_kib", &GemmProfile::split_us_per_kib, 0, 2),
       add("gemm.small_off_lines", &GemmProfile::small_off_lines, 1, 6),
       add("gemm.small_off_sectors", &GemmProfile::small_off_sectors, 1, 9),
       add("gemm.tall_small", &GemmProfile::tall_small, 0.5, 4)},
      observe(all, false, [](const Timed& each) { return each.family() == &sm90_small_family(); }),
      report);
}

// On Hopper the rows' efficiencies stay what the architectures of their own have of them, and one
// factor says what mma.sync reaches.
void fit_ampere(const std::vector<Timed>& all, MachineProfile& profile, FitReport& report) {
  std::set<std::string> rows;
  const auto wanted = [](const Timed& each) { return each.family() == &sm80_family(); };
  for (const Timed& each : all)
    if (wanted(each)) rows.insert(each.variant->config.row);
  if (rows.empty()) return;
  const bool hopper = profile.arch == Arch::sm_90a;
  std::vector<GemmParameter> parameters;
  for (const std::string& row : rows) {
    const std::string path = "gemm.kernels." + row;
    const auto of_row = [row](double KernelTimes::*field) {
      return [row, field](MachineProfile& p) -> double& { return p.gemm.kernels.at(row).*field; };
    };
    profile.gemm.kernels.try_emplace(row, profile.gemm.times_of(row));
    parameters.push_back({path + ".efficiency", of_row(&KernelTimes::efficiency), 0.05, 1.5});
    parameters.push_back(
        {path + ".epilogue_cycles", of_row(&KernelTimes::epilogue_cycles), 0, 5e4});
  }
  if (hopper) {
    // One row's efficiency is taken as it is; otherwise rows and factor could trade.
    parameters.front() = ratio(
        "gemm.mma_sync", [](MachineProfile& p) -> double& { return p.gemm.mma_sync; }, 0.1, 1.5);
  } else {
    parameters.push_back(ratio(
        "gemm.start_us", [](MachineProfile& p) -> double& { return p.gemm.start_us; }, 0.5, 30));
    parameters.push_back(
        {"chip.clock_gain", [](MachineProfile& p) -> double& { return p.chip.clock_gain; }, 0, 1});
  }
  fit_part(profile, "gemm_sm80", parameters, observe(all, false, wanted), report);
}

void fit_narrow(const std::vector<Timed>& all, MachineProfile& profile, FitReport& report) {
  fit_part(
      profile, "8-bit inputs",
      {ratio(
           "gemm.e4m3", [](MachineProfile& p) -> double& { return p.gemm.narrow; }, 0.3, 1.5),
       ratio(
           "gemm.precise", [](MachineProfile& p) -> double& { return p.gemm.precise; }, 0.5, 3)},
      observe(
          all, false,
          [](const Timed& each) { return each.family() == &sm90_family() && each.is_narrow(); }),
      report);
}

// The same products cool and under load. What a launch takes does not depend on the clock.
void fit_load(const Measurements& measurements, const GemmCases& cases, MachineProfile& profile,
              FitReport& report) {
  std::vector<double> ratios;
  for (const Timed& hot : timed(measurements, cases, "sustained"))
    for (const Timed& cool : timed(measurements, cases, "cool"))
      if (hot.variant == cool.variant && hot.group() == cool.group())
        ratios.push_back(cool.us() / hot.us());
  if (ratios.empty()) return;
  double sum = 0;
  for (const double value : ratios) sum += std::log(value);
  profile.gemm.sustained =
      std::clamp(std::exp(sum / static_cast<double>(ratios.size())), 0.3, 1.05);
  report.measured.emplace_back("gemm.sustained");
}

}  // namespace

void fit_gemms(const Measurements& measurements, MachineProfile& profile, FitReport& report) {
  const GemmCases cases =
      cases_for(profile.arch, static_cast<int>(measurements.machine["sms"]), profile);
  const std::vector<Timed> cool = timed(measurements, cases, "cool");
  const double sustained = std::exchange(profile.gemm.sustained, 1.0);
  fit_formula(cool, profile, report);
  fit_timed_rows(cool, profile, report);
  fit_few_rows(cool, profile, report);
  fit_narrow(cool, profile, report);
  fit_ampere(cool, profile, report);
  profile.gemm.sustained = sustained;
  fit_load(measurements, cases, profile, report);
}

}  // namespace tilepost
