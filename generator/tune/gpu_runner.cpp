#include "generator/tune/gpu_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "generator/bench/harness.h"
#include "generator/harness/output_reader.h"
#include "generator/harness/process.h"
#include "generator/whole_files.h"

namespace tilepost {
namespace {

using Clock = std::chrono::steady_clock;

// How long the harness may be silent, in seconds. This is longer than its own deadline
// (runtime/bench/main.cpp).
constexpr double kIdleSeconds = 120;

// What the harness takes until its first round, in seconds: communicators, memory, checks.
constexpr double kSetUpSeconds = 8;
// Rounds are measured for at least so long, however long compilers took, and no longer than that:
// what is left then differs by less than can be told apart.
constexpr double kLeastRoundsSeconds = 5, kMostRoundsSeconds = 25;
constexpr int kMostRounds = 1000;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

TuneRunner::Result GpuRunner::run(const std::vector<HarnessProgram>& programs, const TuneRun& run,
                                  BenchLog& log, Progress& progress, Diagnostics& diagnostics) {
  const Clock::time_point begin = Clock::now();
  const std::string folder =
      options_.keep_dir.empty() ? "" : joined(options_.keep_dir, std::to_string(run.number + 1));
  WorkDir dir(folder, diagnostics);
  if (!dir.ok()) return Result::not_written;
  const BenchHarness harness;  // the plans are measured against each other, not against plain ones
  const SourcesResult sources = write_bench_sources(programs, harness, dir, progress, diagnostics);
  if (sources != SourcesResult::written)
    return sources == SourcesResult::not_written ? Result::not_written : Result::failed;
  const BuildPlan plan =
      plan_bench_build(programs, harness, target_.tools, target_.cublas_lt, target_.sm, dir);
  const BuildResult built =
      build_harness(plan, options_.jobs, options_.cache_dir, dir, progress, diagnostics);
  if (built != BuildResult::built)
    return built == BuildResult::not_written ? Result::not_written : Result::failed;

  const double left = run.seconds - seconds_since(begin) - kSetUpSeconds;
  const double seconds = std::clamp(left, kLeastRoundsSeconds, kMostRoundsSeconds);
  std::vector<std::string> argv = {plan.harness, "--tune",
                                   "--seed",     std::to_string(options_.seed),
                                   "--rounds",   std::to_string(kMostRounds),
                                   "--seconds",  fmt::format("{:.1f}", seconds)};
  if (options_.graph) argv.emplace_back("--graph");
  if (run.registered) argv.emplace_back("--registered");
  const Clock::time_point start = Clock::now();
  const HarnessEnd end = run_lines(argv, kIdleSeconds, [&](llvm::StringRef line) {
    std::string program;
    log.take(line, program);
    const double elapsed = std::min(seconds_since(start), seconds + kSetUpSeconds);
    progress.update(fmt::format("measuring {} plans, seconds", programs.size()),
                    static_cast<size_t>(elapsed), static_cast<size_t>(seconds + kSetUpSeconds));
  });
  progress.clear();
  if (end.ended || interrupted()) return Result::ran;
  diagnostics.error("the harness ended early with " + end.end);
  return Result::failed;
}

}  // namespace tilepost
