#include "generator/bench/bench.h"

#include <fmt/format.h>
#include <time.h>

#include <array>

#include "generator/bench/harness.h"
#include "generator/bench/report.h"
#include "generator/bench/revision.h"
#include "generator/bench/target.h"
#include "generator/bench/torch.h"
#include "generator/harness/gpus.h"
#include "generator/harness/output_reader.h"
#include "generator/harness/process.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/LineIterator.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "tilepost/internal/expert_ops.h"

namespace tilepost {
namespace {

constexpr int kMeasured = 0, kFailed = 1, kNotWritten = 3;

// How long the harness may be silent, in seconds. This is longer than its own deadline
// (runtime/bench/main.cpp).
constexpr double kIdleSeconds = 120;
constexpr const char* kModeFlags[] = {"cool", "sustained", "both"};

// `elsewhere`: the target are the GPUs that the first program is planned for, which need not be
// here.
std::optional<BenchTarget> find_target(const std::vector<HarnessProgram>& programs, bool elsewhere,
                                       Diagnostics& diagnostics) {
  const Plan& first = programs.front().plans.back();
  if (elsewhere && first.arch == Arch::host) {
    diagnostics.error(fmt::format(
        "cannot measure '{}': it is planned for host, and GPUs are measured; choose one's "
        "architecture with --arch",
        programs.front().name));
    return std::nullopt;
  }
  return find_bench_target(
      elsewhere ? Gpus{1, compute_capability(first.arch), "", ""} : find_gpus(), "measure",
      diagnostics);
}

// Whether the harness has something to compare the plan's experts with. Gate and up of sums of
// tokens would not be exact.
bool can_measure_experts(const Plan& plan) {
  const int allowed = row_of(plan).combines() ? 0 : kGateOps;
  return (plan.epilogue & ~allowed) == 0 && plan.input == plan.output &&
         (plan.ranks > 1 || !row_of(plan).communicates());
}

// Leaves every program the one plan that serves the GPU best. Returns false if one has none.
bool choose_plans(std::vector<HarnessProgram>& programs, int sm, Diagnostics& diagnostics) {
  for (HarnessProgram& program : programs) {
    const Plan* plan = chosen_plan(program, sm);
    if (plan != nullptr && row_of(*plan).has_experts() && !can_measure_experts(*plan))
      diagnostics.error(fmt::format(
          "cannot measure '{}': experts are measured with inputs of bf16 or f16, without scales "
          "and bias, sums of tokens without an epilogue, and pattern '{}' on {} ranks; change the "
          "spec, or leave it out",
          program.name, name_of(plan->pattern), row_of(*plan).communicates() ? "several" : "any"));
    else if (plan != nullptr && plan->quantised)
      diagnostics.error(
          fmt::format("cannot measure '{}': bench has nothing to compare a quantised output with; "
                      "time runs of it in your program, or set gemm.out to {}",
                      program.name, name_of(plan->output)));
    else if (plan == nullptr)
      diagnostics.error(
          fmt::format("cannot measure '{}': it is planned for {}, this machine's GPUs "
                      "are sm_{}; choose another with --arch",
                      program.name, name_of(program.plans.front().arch), sm));
    else
      program.plans = {Plan(*plan)};
  }
  return diagnostics.ok();
}

// How long the harness will take, in seconds, by the lengths that are built into it
// (runtime/bench/gpu/timing.h).
double estimate_seconds(const std::vector<HarnessProgram>& programs, const BenchOptions& options,
                        int gpus) {
  const bool cool = options.mode != BenchMode::sustained;
  const bool sustained = options.mode != BenchMode::cool;
  const int bursts = 3 * options.rounds;
  double seconds = 2;
  for (const HarnessProgram& program : programs) {
    const Plan& plan = program.plans.front();
    seconds += 0.5 + (cool ? 0.7 + 0.0115 * bursts : 0) + (sustained ? 2 + 0.02 * bursts : 0);
    if (plan.ranks > 1 && plan.ranks <= gpus && row_of(plan).communicates())
      seconds += 10 + 0.05 * options.rounds;
  }
  return seconds;
}

bool communicate(const std::vector<HarnessProgram>& programs) {
  return llvm::any_of(programs, [](const HarnessProgram& program) {
    return row_of(program.plans.front()).communicates();
  });
}

std::string now_in_words() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::vector<std::string> harness_command(const std::string& harness, const BenchOptions& options) {
  std::vector<std::string> argv = {harness,
                                   "--seed",
                                   std::to_string(options.seed),
                                   "--rounds",
                                   std::to_string(options.rounds),
                                   "--mode",
                                   kModeFlags[static_cast<int>(options.mode)],
                                   "--load",
                                   options.load};
  if (options.lent_output) argv.emplace_back("--lent-output");
  if (options.registered) argv.emplace_back("--registered");
  return argv;
}

// Prints the table as the harness's lines come in: a program's rows when it has ended.
class LiveTable {
 public:
  LiveTable(const std::vector<HarnessProgram>& programs, const BenchContext& context,
            double seconds, BenchLog& log, llvm::raw_ostream& out, Progress& progress)
      : programs_(programs),
        context_(context),
        seconds_(seconds),
        log_(log),
        out_(out),
        progress_(progress) {}

  void take(llvm::StringRef line) {
    std::string name;
    const BenchLog::Event event = log_.take(line, name);
    progress_.update("measuring " + name, done, programs_.size());
    if (event != BenchLog::Event::machine && event != BenchLog::Event::end) return;
    progress_.clear();
    if (event == BenchLog::Event::machine) out_ << table_head(context_, log_.machine(), seconds_);
    for (const HarnessProgram& program : programs_)
      if (event == BenchLog::Event::end && program.name == name)
        out_ << table_rows(program, log_.of(name)), ++done;
    out_.flush();
  }

  // Prints what did not end, and the means.
  void finish() {
    progress_.clear();
    for (const HarnessProgram& program : programs_)
      if (!log_.of(program.name).ended) out_ << table_rows(program, log_.of(program.name));
    out_ << table_foot(programs_, log_);
  }

  size_t done = 0;  // programs whose rows are printed

 private:
  const std::vector<HarnessProgram>& programs_;
  const BenchContext& context_;
  double seconds_;
  BenchLog& log_;
  llvm::raw_ostream& out_;
  Progress& progress_;
};

bool all_measured(const std::vector<HarnessProgram>& programs, const BenchLog& log) {
  return llvm::all_of(programs,
                      [&](const HarnessProgram& program) { return log.of(program.name).ok(); });
}

void make_files(const BenchContext& context, const std::vector<HarnessProgram>& programs,
                const BenchLog& log, BenchFiles& files) {
  files.json = bench_json(context, programs, log);
  if (context.options.draws) files.svg = bench_picture(context, programs, log);
}

// Runs the harness, and prints its table meanwhile.
HarnessEnd measure(const std::string& harness, const std::vector<HarnessProgram>& programs,
                   const BenchContext& context, double seconds, BenchLog& log,
                   llvm::raw_ostream& out, Progress& progress) {
  LiveTable table(programs, context, seconds, log, out, progress);
  const HarnessEnd end = run_lines(harness_command(harness, context.options), kIdleSeconds,
                                   [&](llvm::StringRef line) { table.take(line); });
  table.finish();
  if (!end.ended) out << "# FAIL: the harness ended early with " << end.end << "\n";
  return end;
}

// Prints the table of what a harness wrote elsewhere, after --no-run.
int show_records(const std::vector<HarnessProgram>& programs, const BenchContext& context,
                 llvm::raw_ostream& out, BenchFiles& files, Progress& progress,
                 Diagnostics& diagnostics) {
  const std::string& path = context.options.from;
  const auto text = llvm::MemoryBuffer::getFile(path);
  if (!text) {
    diagnostics.error(fmt::format("cannot read '{}': {}", path, text.getError().message()));
    return kFailed;
  }
  BenchLog log;
  LiveTable table(programs, context, 0, log, out, progress);
  for (llvm::line_iterator line(**text); !line.is_at_end(); ++line) table.take(*line);
  if (table.done == 0) {
    progress.clear();
    diagnostics.error(fmt::format(
        "'{}' has no measurements of these specs and shapes: it is what the harness prints that "
        "'tilepost bench --no-run' has compiled with the same arguments",
        path));
    return kFailed;
  }
  table.finish();
  make_files(context, programs, log, files);
  return all_measured(programs, log) ? kMeasured : kFailed;
}

}  // namespace

int bench(const std::vector<Input>& inputs, const BenchOptions& options, llvm::raw_ostream& out,
          BenchFiles& files, Diagnostics& diagnostics) {
  const InterruptGuard guard;
  Progress progress;
  std::vector<HarnessProgram> programs =
      plan_cases(expand(inputs, options.sweeps, options.shapes), progress, diagnostics);
  if (programs.empty()) {
    if (diagnostics.ok() && !interrupted()) diagnostics.error("there is nothing to measure");
    return kFailed;
  }
  if (!options.from.empty()) {
    const int sm = compute_capability(programs.front().plans.back().arch);
    if (!choose_plans(programs, sm, diagnostics)) return kFailed;
    make_names_unique(programs);
    return show_records(programs, {now_in_words(), tool_revision(), options, communicate(programs)},
                        out, files, progress, diagnostics);
  }
  const std::optional<BenchTarget> target = find_target(programs, options.no_run, diagnostics);
  if (!target || !choose_plans(programs, target->sm, diagnostics)) return kFailed;
  make_names_unique(programs);
  const bool end_to_end = communicate(programs);
  if (end_to_end && !options.no_run)
    warn_of_other_machine(inputs.front().machine->profile, diagnostics);

  WorkDir dir(options.keep_dir, diagnostics);
  if (!dir.ok()) return kNotWritten;
  const BenchHarness harness = make_bench_harness(programs);
  const SourcesResult sources = write_bench_sources(programs, harness, dir, progress, diagnostics);
  if (sources != SourcesResult::written)
    return sources == SourcesResult::not_written ? kNotWritten : kFailed;
  const BuildPlan plan =
      plan_bench_build(programs, harness, target->tools, target->cublas_lt, target->sm, dir);
  const BuildResult built =
      build_harness(plan, options.jobs, options.cache_dir, dir, progress, diagnostics);
  if (built != BuildResult::built) return built == BuildResult::not_written ? kNotWritten : kFailed;

  progress.clear();
  if (options.no_run) {
    out << "not run: " << llvm::join(harness_command(plan.harness, options), " ") << "\n";
    return kMeasured;
  }
  const BenchContext context{now_in_words(), tool_revision(), options, end_to_end};
  BenchLog log;
  if (!options.torch.empty())
    measure_torch(options.torch, options.rounds, options.seed, programs, target->gpus, dir, log,
                  progress);
  const double seconds = estimate_seconds(programs, options, target->gpus);
  const HarnessEnd end = measure(plan.harness, programs, context, seconds, log, out, progress);
  make_files(context, programs, log, files);
  return end.ended && end.exit_status == 0 && all_measured(programs, log) ? kMeasured : kFailed;
}

}  // namespace tilepost
