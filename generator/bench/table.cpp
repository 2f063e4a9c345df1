#include <fmt/format.h>

#include <algorithm>

#include "generator/bench/report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include "tilepost/internal/expert_ops.h"
#include "tilepost/version.h"

namespace tilepost {
namespace {

constexpr RatioKind kAgainstCublas = kRatioKinds[0], kSignal = kRatioKinds[2];

std::string text_of(const llvm::json::Object& object, llvm::StringRef key) {
  const llvm::StringRef text = object.getString(key).value_or("");
  return text.empty() ? "unknown" : text.str();
}

std::string in_words(double seconds) {
  const int whole = std::max(1, static_cast<int>(seconds + 0.5));
  return whole < 90 ? fmt::format("{} s", whole) : fmt::format("{} min", (whole + 59) / 60);
}

const char* const kModeWords[] = {"cool", "sustained", "cool and sustained"};

std::string types_of(const Plan& plan) {
  std::string text = std::string(name_of(plan.input)) + ">" + name_of(plan.output);
  if (row_of(plan.input).sums_short())
    text += plan.accumulate == TILEPOST_FAST ? " fast" : " precise";
  return text + " " + name_of(plan.operands);
}

// "2x1": how many CTAs share operands, one below the other and side by side; or "k4", if four CTAs
// share a tile's K.
std::string sharing_of(const Plan& plan) {
  const int split = plan.source.split_k, across = plan.source.across;
  if (split > 1) return fmt::format("k{}", split);
  return fmt::format("{}x{}", plan.kernel.cluster / across, across);
}

// Names of templates may have hundreds of characters; the JSON has them whole.
std::string shortened(const std::string& name) {
  constexpr size_t kMost = 64;
  return name.size() <= kMost ? name : name.substr(0, kMost) + "...";
}

// The columns that say what is measured.
std::string point_columns(const HarnessProgram& program, std::string_view mode) {
  const Plan& plan = program.plans.front();
  const tilepost_kernel_t& kernel = plan.kernel;
  const int sms = (plan.gemm_ctas + kernel.ctas_per_sm - 1) / kernel.ctas_per_sm;
  return fmt::format(
      "{:<10}{:<20} {:<18} {:<20}{:<16}{:<16}{:<8}{:<6}{:>9}", mode, program.name,
      fmt::format("{}x{}x{}", rows_of_runs(plan), plan.map.n, plan.k), types_of(plan), kernel.name,
      fmt::format("{}x{}x{}/{}", plan.map.tile_m, plan.map.tile_n, kernel.tile_k,
                  plan.source.stages),
      sharing_of(plan), name_of(plan.map.layout), fmt::format("{}/{}", sms, plan.sms));
}

std::string time_columns(const Plan& plan, int64_t rows, const std::vector<double>& us) {
  if (us.empty()) return fmt::format("{0:>10}{0:>9}", "-");
  const double time = summarise(us).median;
  const auto columns = static_cast<double>(rows_of_expert(plan.epilogue, plan.map.n));
  const double flop = 2.0 * static_cast<double>(rows) * columns * static_cast<double>(plan.k);
  return fmt::format("{:>10.1f}{:>9.0f}", time, flop / time / 1e6);
}

std::string ratio_columns(const std::vector<double>& ratios) {
  if (ratios.empty()) return fmt::format("{0:>8}{0:>14}", "-");
  const Summary summary = summarise(ratios);
  return fmt::format("{:>8.3f}{:>14}", summary.median,
                     fmt::format("{:.3f}-{:.3f}", summary.p10, summary.p90));
}

const std::vector<double>& times_of(const ModeSamples& samples, const char* variant) {
  static const std::vector<double> none;
  const auto found = samples.us.find(variant);
  return found == samples.us.end() ? none : found->second;
}

std::string mode_row(const HarnessProgram& program, const ModeSamples& samples) {
  const Plan& plan = program.plans.front();
  const int64_t rows = samples.rows > 0 ? samples.rows : plan.map.m;
  const std::vector<double> signal = ratios_of(samples, kSignal);
  std::string row = point_columns(program, samples.mode) + fmt::format("{:>8}", 0) +
                    time_columns(plan, rows, times_of(samples, "ours")) +
                    time_columns(plan, rows, times_of(samples, "cublaslt")) +
                    ratio_columns(ratios_of(samples, kAgainstCublas));
  row += signal.empty() ? fmt::format("{:>8}", "-")
                        : fmt::format("{:>8.3f}", summarise(signal).median);
  return row + (samples.cublas_kernels.empty() ? "" : "  " + shortened(samples.cublas_kernels));
}

}  // namespace

std::string refusal(const ProgramSamples& samples) {
  if (!samples.failure.empty()) return "no time: " + samples.failure;
  for (const CheckRecord& check : samples.checks)
    if (check.wrong > 0)
      return fmt::format("no time: {} of {} {} of '{}' differ from {}", check.wrong, check.elements,
                         check.against == "counters" ? "groups" : "elements", check.variant,
                         check.against);
  return "no time: the harness ended before";
}

std::vector<double> ratios_of(const ModeSamples& samples, const RatioKind& kind) {
  return paired_ratios(times_of(samples, kind.than), times_of(samples, kind.faster));
}

std::string table_head(const BenchContext& context, const llvm::json::Object& machine,
                       double seconds) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const auto number = [&](llvm::StringRef key) { return machine.getInteger(key).value_or(0); };
  out << fmt::format("# tilepost {}, revision {}, {}\n", TILEPOST_VERSION_STRING,
                     context.revision.empty() ? "unknown" : context.revision, context.date)
      << fmt::format(
             "# {} x {}, {} SMs, sm_{}; driver {}, CUDA {}, cuBLASLt {}, "
             "NCCL {}\n",
             number("gpus"), text_of(machine, "gpu"), number("sms"), number("sm"),
             text_of(machine, "driver"), text_of(machine, "cuda"), text_of(machine, "cublaslt"),
             text_of(machine, "nccl"))
      << fmt::format("# {}: {} rounds, seed {}; about {}\n",
                     kModeWords[static_cast<int>(context.options.mode)], context.options.rounds,
                     context.options.seed, in_words(seconds))
      << "# medians; ratio: the reference's time over ours, paired by round, above 1 ours is "
         "faster; reference: the best of cuBLASLt's candidates\n";
  if (context.end_to_end)
    out << "# overlap: from end to end on all ranks, beside cuBLASLt and NCCL in sequence, and "
           "these alone; steady: the same back to back\n"
        << "#\n"
        << overlap_head();
  else
    out << "#\n";
  out << fmt::format(
      "#{:<9}{:<20} {:<18} {:<20}{:<16}{:<16}{:<8}{:<6}{:>9}{:>8}{:>10}{:>9}"
      "{:>10}{:>9}{:>8}{:>14}{:>8}  {}\n",
      "mode", "name", "m x n x k", "types", "kernel", "tile/stages", "cluster", "layout", "SMs",
      "#wrong", "ours us", "TFLOP/s", "ref us", "TFLOP/s", "ratio", "p10-p90", "on/off",
      "reference");
  return text;
}

std::string table_rows(const HarnessProgram& program, const ProgramSamples& samples) {
  std::string text;
  const std::string varied = program.varied.empty() ? "" : "  " + program.varied;
  if (!samples.ok()) {
    text = point_columns(program, "-") + fmt::format("{:>8}  ", samples.wrong()) +
           refusal(samples) + varied + "\n";
  } else {
    for (const ModeSamples& mode : samples.modes) {
      if (llvm::StringRef(mode.mode).starts_with("torch")) continue;  // shown in other rows
      const bool whole = mode.mode == "overlap" || mode.mode == "steady" || mode.mode == "graph";
      text +=
          (whole ? overlap_row(program, samples, mode) : mode_row(program, mode)) + varied + "\n";
    }
  }
  const bool other_epilogue = llvm::any_of(samples.modes, [&](const ModeSamples& mode) {
    return mode.candidates > 0 && mode.cublas_operations != program.plans.front().epilogue;
  });
  if (other_epilogue)
    text +=
        "#   " + program.name + ": cuBLASLt lacks this epilogue and computes the product only\n";
  for (const std::string& note : samples.notes) text += "#   " + program.name + ": " + note + "\n";
  return text;
}

std::string table_foot(const std::vector<HarnessProgram>& programs, const BenchLog& log) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "#\n";
  size_t failed = 0;
  for (const HarnessProgram& program : programs) failed += !log.of(program.name).ok();
  for (const char* mode :
       {"cool", "sustained", "overlap", "steady", "graph", "torch", "torch graph"})
    for (const RatioKind& kind : kRatioKinds) {
      std::vector<double> medians;
      for (const HarnessProgram& program : programs) {
        const ProgramSamples& samples = log.of(program.name);
        if (!samples.ok()) continue;
        for (const ModeSamples& each : samples.modes)
          if (const auto ratios = ratios_of(each, kind); each.mode == mode && !ratios.empty())
            medians.push_back(summarise(ratios).median);
      }
      if (medians.empty()) continue;
      out << fmt::format("# geometric mean, {:<10} {:<18} {:.3f}, least {:.3f}, {} point{}\n", mode,
                         kind.name, geometric_mean(medians),
                         *std::min_element(medians.begin(), medians.end()), medians.size(),
                         medians.size() == 1 ? "" : "s");
    }
  if (!log.torch().empty()) out << "# PyTorch " << log.torch() << "\n";
  if (!log.failure().empty()) out << "# FAIL: " << log.failure() << "\n";
  if (failed > 0)
    out << fmt::format("# FAIL: {} of {} point{} not measured\n", failed, programs.size(),
                       programs.size() == 1 ? "" : "s");
  return text;
}

}  // namespace tilepost
