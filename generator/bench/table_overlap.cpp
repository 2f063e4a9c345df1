// The table's rows of operations measured from end to end.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "generator/bench/report.h"
#include "generator/plan/cost/limit.h"

namespace tilepost {
namespace {

constexpr RatioKind kAgainstSequence{"", "ours", "sequence"}, kFused{"", "fused", "sequence"};
constexpr const char* kOverlapRow =
    "{:<10}{:<20} {:<18} {:<11}{:<25}{:<15}{:<22}{:>8}{:>10}{:>10}{:>9}{:>9}{:>8}{:>14}"
    "{:>9}{:>8}{:>8}{:>10}{:>10}{:>10}{:>9}{:>10}";

std::string pattern_of(const Plan& plan) {
  std::string text = name_of(plan.pattern);
  if (row_of(plan).routes()) text += std::string(" ") + name_of(plan.routing);
  return text + "/" + std::to_string(plan.ranks);
}

std::string schedule_of(const Plan& plan) {
  if (plan.transport == TILEPOST_TRANSPORT_NONE)
    return std::string(name_of(plan.map.layout)) + ", no overlap";
  const int sms = (plan.gemm_ctas + plan.kernel.ctas_per_sm - 1) / plan.kernel.ctas_per_sm;
  if (plan.access == TILEPOST_ACCESS_TILES)
    return fmt::format("{} {} shot{} {}", name_of(plan.map.layout), name_of(plan.shots),
                       plan.shots == TILEPOST_ONE_SHOT ? "" : "s", sms);
  return fmt::format("{} {}g {}+{}/{}", name_of(plan.map.layout), plan.cuts().size(), sms,
                     plan.comm_ctas, plan.comm_lanes);
}

std::optional<double> median(const ModeSamples* samples, const char* variant) {
  if (samples == nullptr) return std::nullopt;
  const auto found = samples->us.find(variant);
  if (found == samples->us.end() || found->second.empty()) return std::nullopt;
  return summarise(found->second).median;
}

std::string median_of(const ModeSamples* samples, const char* variant) {
  const std::optional<double> us = median(samples, variant);
  return us ? fmt::format("{:.1f}", *us) : "-";
}

// The limit over our time.
std::string share_of_limit(const Plan& plan, const ModeSamples& mode) {
  const auto ours = median(&mode, "ours"), limit = limit_us(plan, mode);
  return ours && limit ? fmt::format("{:.2f}", *limit / *ours) : "-";
}

// The share of the collective's time that our operation hides behind the GEMM.
std::string share_hidden(const ModeSamples& mode) {
  const auto ours = median(&mode, "ours"), gemm = median(&mode, "gemm"),
             collective = median(&mode, "collective");
  if (!ours || !gemm || !collective) return "-";
  return fmt::format("{:.2f}", 1 - (*ours - *gemm) / *collective);
}

std::string ratio_of(const ModeSamples* samples, const RatioKind& kind) {
  const std::vector<double> ratios =
      samples == nullptr ? std::vector<double>{} : ratios_of(*samples, kind);
  if (ratios.empty()) return "-";
  return fmt::format("{:.3f}", summarise(ratios).median);
}

std::string quartiles_of(const ModeSamples& samples) {
  const Summary summary = summarise(ratios_of(samples, kAgainstSequence));
  return summary.n == 0 ? "-" : fmt::format("{:.3f}-{:.3f}", summary.p25, summary.p75);
}

// PyTorch's time over ours. The two are not from the same rounds, so this is the ratio of the
// medians.
std::string against_torch(const ModeSamples& ours, const ModeSamples* torch) {
  const auto theirs = median(torch, "fused"), own = median(&ours, "ours");
  return theirs && own ? fmt::format("{:.3f}", *theirs / *own) : "-";
}

// PyTorch's samples to show beside a row of ours, or null.
const ModeSamples* torch_beside(const ProgramSamples& samples, const std::string& mode) {
  if (mode == "overlap") return samples.mode("torch");
  return mode == "graph" ? samples.mode("torch graph") : nullptr;
}

}  // namespace

std::optional<double> limit_us(const Plan& plan, const ModeSamples& samples) {
  const auto gemm = median(&samples, "gemm"), links = links_us(plan);
  if (!gemm || !links) return std::nullopt;
  return std::max(*gemm, *links);
}

std::string overlap_head() {
  return fmt::format(kOverlapRow, "#overlap", "name", "m x n x k", "types", "pattern/ranks",
                     "transport", "groups, SMs+CTAs/lanes", "#wrong", "ours us", "seq us",
                     "gemm us", "coll us", "ratio", "quartiles", "plan us", "limit", "hidden",
                     "1shot us", "2shot us", "torch us", "own x", "torch/us") +
         "\n";
}

std::string overlap_row(const HarnessProgram& program, const ProgramSamples& samples,
                        const ModeSamples& mode) {
  const Plan& plan = program.plans.front();
  const bool single = mode.mode == "overlap";
  const ModeSamples* const torch = torch_beside(samples, mode.mode);
  return fmt::format(
      kOverlapRow, mode.mode, program.name,
      fmt::format("{}x{}x{}", rows_of_runs(plan), plan.map.n, plan.k),
      std::string(name_of(plan.input)) + " " + name_of(plan.operands), pattern_of(plan),
      name_of(plan.planned_transport), schedule_of(plan), 0, median_of(&mode, "ours"),
      median_of(&mode, "sequence"), median_of(&mode, "gemm"), median_of(&mode, "collective"),
      ratio_of(&mode, kAgainstSequence), quartiles_of(mode),
      single ? fmt::format("{:.1f}", plan.prediction.total) : "-", share_of_limit(plan, mode),
      share_hidden(mode), median_of(torch, "one_shot"), median_of(torch, "two_shot"),
      median_of(torch, "fused"), ratio_of(torch, kFused), against_torch(mode, torch));
}

}  // namespace tilepost
