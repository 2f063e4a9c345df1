#include "generator/profile/fit/fit.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/arch.h"
#include "generator/spec/names.h"

namespace tilepost {
namespace {

bool lies_below(const std::string& path, const std::string& prefix) {
  return path == prefix || (path.starts_with(prefix) && path[prefix.size()] == '.');
}

// The architecture that serves a GPU of compute capability `sm` best.
Arch arch_of(int sm) {
  Arch best = Arch::sm_80;
  for (const Arch arch : gpu_archs()) {
    const int number = arch_info(arch).number;
    const bool serves = arch == Arch::sm_90a ? sm == number : number <= sm;
    if (serves && number >= arch_info(best).number) best = arch;
  }
  return best;
}

// "NVIDIA H200" without the maker's name.
std::string short_name(const std::string& product) {
  constexpr std::string_view kMaker = "NVIDIA ";
  return product.starts_with(kMaker) ? product.substr(kMaker.size()) : product;
}

std::string links_of(const Measurements& measurements) {
  const auto pairs = measurements.select("pair");
  if (pairs.empty()) return "";
  const auto reaching =
      std::ranges::count_if(pairs, [](const Measurement* pair) { return (*pair)["reaches"] != 0; });
  if (reaching == 0) return ", no peer access";
  return reaching == static_cast<ptrdiff_t>(pairs.size()) ? ", peer access"
                                                          : ", peer access of some pairs";
}

// Why the fields of each section that no step measures are the base's.
void explain_rest(const Measurements& measurements, FitReport& report) {
  const auto because = [&](const char* path, const char* reason) {
    report.taken.emplace(path, reason);
  };
  constexpr const char* kPrograms = "only whole programs show it, which this command does not run";
  if (measurements.gpus() < 2) {
    because("collectives", "there is one GPU only");
    because("peers", "there is one GPU only");
  }
  because("gemm.kernels", "this GPU has other kernels, or they were not timed");
  because("gemm.sm90", "not a constant that times of products alone show");
  because("gemm", "not a constant that times of products alone show");
  because("collectives", kPrograms);
  because("peers.sums", "nothing was measured");
  because("peers", kPrograms);
  because("accuracy", "it is the model's, not the machine's");
  because("chip", "nothing was measured");
}

}  // namespace

bool FitReport::is_measured(const std::string& path) const {
  return std::ranges::any_of(measured,
                             [&](const std::string& prefix) { return lies_below(path, prefix); });
}

std::string FitReport::why_taken(const std::string& path) const {
  if (is_measured(path)) return "";
  const std::string* reason = nullptr;
  size_t longest = 0;
  for (const auto& [prefix, text] : taken)
    if (lies_below(path, prefix) && prefix.size() >= longest)
      reason = &text, longest = prefix.size();
  return reason != nullptr ? *reason : "nothing was measured";
}

MachineProfile fit_machine(const MachineProfile& base, const Measurements& measurements,
                           FitReport& report) {
  MachineProfile profile = base;
  const std::string gpu = short_name(measurements.machine.text("gpu"));
  profile.name = fmt::format("{} x {}{}", measurements.gpus(), gpu, links_of(measurements));
  profile.gpu = gpu;
  profile.arch = arch_of(static_cast<int>(measurements.machine["sm"]));
  report.measured = {"name", "gpu", "arch", "measured"};
  explain_rest(measurements, report);
  fit_chip(measurements, profile, report);
  fit_gemms(measurements, profile, report);
  fit_collectives(measurements, profile, report);
  fit_links(measurements, profile, report);
  return profile;
}

}  // namespace tilepost
