#include <algorithm>

#include "generator/bench/report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
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
  return whole < 90 ? llvm::formatv("{0} s", whole).str()
                    : llvm::formatv("{0} min", (whole + 59) / 60).str();
}

const char* const kModeWords[] = {"cool", "sustained", "cool and sustained"};

std::string types_of(const Plan& plan) {
  std::string text = std::string(name_of(plan.input)) + ">" + name_of(plan.output);
  if (plan.input == TILEPOST_E4M3) text += plan.accumulate == TILEPOST_FAST ? " fast" : " precise";
  return text + " " + name_of(plan.operands);
}

// The columns that say what is measured.
std::string point_columns(const VerifyProgram& program, llvm::StringRef mode) {
  const Plan& plan = program.plans.front();
  const tilepost_kernel_t& kernel = plan.kernel;
  const int sms = (plan.gemm_ctas + kernel.ctas_per_sm - 1) / kernel.ctas_per_sm;
  return llvm::formatv("{0,-10}{1,-20} {2,-18} {3,-20}{4,-16}{5,-14}{6,-6}{7,9}", mode,
                       program.name,
                       llvm::formatv("{0}x{1}x{2}", plan.map.m, plan.map.n, plan.k).str(),
                       types_of(plan), kernel.name,
                       llvm::formatv("{0}x{1}x{2}/{3}", plan.map.tile_m, plan.map.tile_n,
                                     kernel.tile_k, plan.source.stages)
                           .str(),
                       name_of(plan.map.layout), llvm::formatv("{0}/{1}", sms, plan.sms).str());
}

std::string time_columns(const Plan& plan, const std::vector<double>& us) {
  if (us.empty()) return llvm::formatv("{0,10}{0,9}", "-");
  const double time = summarise(us).median;
  const double flop = 2.0 * static_cast<double>(plan.map.m) * static_cast<double>(plan.map.n) *
                      static_cast<double>(plan.k);
  return llvm::formatv("{0,10:F1}{1,9:F0}", time, flop / time / 1e6);
}

std::string ratio_columns(const std::vector<double>& ratios) {
  if (ratios.empty()) return llvm::formatv("{0,8}{0,14}", "-");
  const Summary summary = summarise(ratios);
  return llvm::formatv("{0,8:F3}{1,14}", summary.median,
                       llvm::formatv("{0:F3}-{1:F3}", summary.p10, summary.p90).str());
}

const std::vector<double>& times_of(const ModeSamples& samples, const char* variant) {
  static const std::vector<double> none;
  const auto found = samples.us.find(variant);
  return found == samples.us.end() ? none : found->second;
}

std::string mode_row(const VerifyProgram& program, const ModeSamples& samples) {
  const Plan& plan = program.plans.front();
  const std::vector<double> signal = ratios_of(samples, kSignal);
  std::string row = point_columns(program, samples.mode) + llvm::formatv("{0,8}", 0).str() +
                    time_columns(plan, times_of(samples, "ours")) +
                    time_columns(plan, times_of(samples, "cublaslt")) +
                    ratio_columns(ratios_of(samples, kAgainstCublas));
  row += signal.empty() ? llvm::formatv("{0,8}", "-").str()
                        : llvm::formatv("{0,8:F3}", summarise(signal).median).str();
  return row;
}

std::string refusal(const ProgramSamples& samples) {
  if (!samples.failure.empty()) return "no time: " + samples.failure;
  for (const CheckRecord& check : samples.checks)
    if (check.wrong > 0)
      return llvm::formatv("no time: {0} of {1} {2} of '{3}' differ from {4}", check.wrong,
                           check.elements, check.against == "counters" ? "groups" : "elements",
                           check.variant, check.against);
  return "no time: the harness ended before";
}

}  // namespace

std::vector<double> ratios_of(const ModeSamples& samples, const RatioKind& kind) {
  return paired_ratios(times_of(samples, kind.than), times_of(samples, kind.faster));
}

std::string table_head(const BenchContext& context, const llvm::json::Object& machine,
                       double seconds) {
  std::string text;
  llvm::raw_string_ostream out(text);
  const auto number = [&](llvm::StringRef key) { return machine.getInteger(key).value_or(0); };
  out << "# tilepost " << TILEPOST_VERSION_STRING << ", revision "
      << (context.revision.empty() ? "unknown" : context.revision) << ", " << context.date << "\n"
      << llvm::formatv(
             "# {0} x {1}, {2} SMs, sm_{3}; driver {4}, CUDA {5}, cuBLASLt {6}, "
             "NCCL {7}\n",
             number("gpus"), text_of(machine, "gpu"), number("sms"), number("sm"),
             text_of(machine, "driver"), text_of(machine, "cuda"), text_of(machine, "cublaslt"),
             text_of(machine, "nccl"))
      << llvm::formatv("# {0}: {1} rounds, seed {2}; about {3}\n",
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
  out << llvm::formatv(
      "#{0,-9}{1,-20} {2,-18} {3,-20}{4,-16}{5,-14}{6,-6}{7,9}{8,8}{9,10}{10,9}"
      "{11,10}{12,9}{13,8}{14,14}{15,8}\n",
      "mode", "name", "m x n x k", "types", "kernel", "tile/stages", "layout", "SMs", "#wrong",
      "ours us", "TFLOP/s", "ref us", "TFLOP/s", "ratio", "p10-p90", "on/off");
  return text;
}

std::string table_rows(const VerifyProgram& program, const ProgramSamples& samples) {
  std::string text;
  const std::string varied = program.varied.empty() ? "" : "  " + program.varied;
  if (!samples.ok()) {
    text = point_columns(program, "-") + llvm::formatv("{0,8}  ", samples.wrong()).str() +
           refusal(samples) + varied + "\n";
  } else {
    for (const ModeSamples& mode : samples.modes) {
      if (mode.mode == "torch") continue;  // columns of another row
      const bool whole = mode.mode == "overlap" || mode.mode == "steady";
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

std::string table_foot(const std::vector<VerifyProgram>& programs, const BenchLog& log) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << "#\n";
  size_t failed = 0;
  for (const VerifyProgram& program : programs) failed += !log.of(program.name).ok();
  for (const char* mode : {"cool", "sustained", "overlap", "steady", "torch"})
    for (const RatioKind& kind : kRatioKinds) {
      std::vector<double> medians;
      for (const VerifyProgram& program : programs) {
        const ProgramSamples& samples = log.of(program.name);
        if (!samples.ok()) continue;
        for (const ModeSamples& each : samples.modes)
          if (const auto ratios = ratios_of(each, kind); each.mode == mode && !ratios.empty())
            medians.push_back(summarise(ratios).median);
      }
      if (medians.empty()) continue;
      out << llvm::formatv("# geometric mean, {0,-10} {1,-18} {2:F3}, least {3:F3}, {4} point{5}\n",
                           mode, kind.name, geometric_mean(medians),
                           *std::min_element(medians.begin(), medians.end()), medians.size(),
                           medians.size() == 1 ? "" : "s");
    }
  if (!log.torch().empty()) out << "# PyTorch " << log.torch() << "\n";
  if (!log.failure().empty()) out << "# FAIL: " << log.failure() << "\n";
  if (failed > 0)
    out << llvm::formatv("# FAIL: {0} of {1} point{2} not measured\n", failed, programs.size(),
                         programs.size() == 1 ? "" : "s");
  return text;
}

}  // namespace tilepost
