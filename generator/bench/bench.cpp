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
#include "llvm/Support/raw_ostream.h"

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

// Leaves every program the one plan that serves the GPU best. Returns false if one has none.
bool choose_plans(std::vector<HarnessProgram>& programs, int sm, Diagnostics& diagnostics) {
  for (HarnessProgram& program : programs) {
    const Plan* plan = chosen_plan(program, sm);
    if (plan != nullptr && row_of(*plan).has_experts())
      diagnostics.error(
          fmt::format("cannot measure '{}': bench compares with one GEMM or collective, and has "
                      "none to compare "
                      "pattern '{}' with; time runs of it in your program, or leave it out",
                      program.name, name_of(plan->pattern)));
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
                                   kModeFlags[static_cast<int>(options.mode)]};
  if (options.lent_output) argv.emplace_back("--lent-output");
  if (options.registered) argv.emplace_back("--registered");
  return argv;
}

// Runs the harness, printing every program's rows when it has ended.
HarnessEnd measure(const std::string& harness, const std::vector<HarnessProgram>& programs,
                   const BenchContext& context, double seconds, BenchLog& log,
                   llvm::raw_ostream& out, Progress& progress) {
  const std::vector<std::string> argv = harness_command(harness, context.options);
  size_t done = 0;
  const HarnessEnd end = run_lines(argv, kIdleSeconds, [&](llvm::StringRef line) {
    std::string name;
    const BenchLog::Event event = log.take(line, name);
    progress.update("measuring " + name, done, programs.size());
    if (event != BenchLog::Event::machine && event != BenchLog::Event::end) return;
    progress.clear();
    if (event == BenchLog::Event::machine) out << table_head(context, log.machine(), seconds);
    for (const HarnessProgram& program : programs)
      if (event == BenchLog::Event::end && program.name == name)
        out << table_rows(program, log.of(name)), ++done;
    out.flush();
  });
  progress.clear();
  for (const HarnessProgram& program : programs)
    if (!log.of(program.name).ended) out << table_rows(program, log.of(program.name));
  out << table_foot(programs, log);
  if (!end.ended) out << "# FAIL: the harness ended early with " << end.end << "\n";
  return end;
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
  const std::optional<BenchTarget> target = find_target(programs, options.no_run, diagnostics);
  if (!target || !choose_plans(programs, target->sm, diagnostics)) return kFailed;
  make_names_unique(programs);
  const bool end_to_end = llvm::any_of(programs, [](const HarnessProgram& program) {
    return row_of(program.plans.front()).communicates();
  });
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
  files.json = bench_json(context, programs, log);
  if (options.draws) files.svg = bench_picture(context, programs, log);
  bool ok = end.ended && end.exit_status == 0;
  for (const HarnessProgram& program : programs) ok = ok && log.of(program.name).ok();
  return ok ? kMeasured : kFailed;
}

}  // namespace tilepost
