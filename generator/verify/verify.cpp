#include "generator/verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "generator/harness/output_reader.h"
#include "generator/harness/process.h"
#include "generator/printable.h"
#include "generator/verify/harness.h"
#include "generator/verify/own_on_cpu.h"
#include "generator/verify/target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost {
namespace {

// A program has two checks, exact and random (runtime/verify/check_program.cpp). An audited kernel
// has three: footprint and bits (audit/audit.cpp), then exact.
constexpr int kChecksPerProgram = 2, kChecksWithAudit = 3;

constexpr int kPassed = 0, kFailed = 1, kNotWritten = 3, kNotRun = 4;

std::string count_of(int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// How long the harness may be silent, in seconds. This is longer than the harness's own deadline
// (runtime/verify/check_program.cpp).
double idle_seconds(const std::vector<HarnessProgram>& programs) {
  double products = 0;
  for (const HarnessProgram& program : programs) {
    const Plan& plan = program.plans.front();
    products =
        std::max(products, static_cast<double>(plan.map.m) * plan.map.n * plan.k * plan.ranks);
  }
  return 300 + products / 2e7;
}

int64_t checks_of(const std::vector<HarnessProgram>& programs) {
  const int64_t audited = std::ranges::count_if(programs, is_audited);
  const int64_t others = static_cast<int64_t>(programs.size()) - audited;
  return audited * kChecksWithAudit + others * kChecksPerProgram;
}

// "4 runs" for the summary. With a plan for any m or with routes the number of runs is not known
// here, and checks are counted instead.
std::string extent(const std::vector<HarnessProgram>& programs, int runs) {
  const auto count = static_cast<int64_t>(programs.size());
  for (const HarnessProgram& program : programs) {
    const Plan& plan = program.plans.front();
    if (plan.any_m || is_routed(plan)) return count_of(checks_of(programs), "check");
  }
  return count_of(count * (runs + 1), "run");
}

// Rows that were asked for must be possible for every plan.
bool check_rows(const std::vector<HarnessProgram>& programs, const std::vector<int64_t>& rows,
                Diagnostics& diagnostics) {
  for (const int64_t m : rows)
    for (const HarnessProgram& program : programs) {
      const Plan& plan = program.plans.front();
      if (plan.any_m && m >= 1 && m <= rows_of_runs(plan)) continue;
      diagnostics.error(
          plan.any_m
              ? fmt::format("-m must be from 1 to the {} rows that '{}' is for, got {}",
                            rows_of_runs(plan), plan.name, m)
              : fmt::format(
                    "-m is for specs with gemm.m '{{max: …}}'; '{}' is for {} rows only, got {}",
                    plan.name, rows_of_runs(plan), m));
      return false;
    }
  return true;
}

std::vector<std::string> harness_command(const std::string& harness, const VerifyOptions& options) {
  std::vector<std::string> command = {harness, "--seed", std::to_string(options.seed), "--runs",
                                      std::to_string(options.runs)};
  std::string rows;
  for (const int64_t m : options.run_rows) rows += (rows.empty() ? "" : ",") + std::to_string(m);
  if (!rows.empty()) command.insert(command.end(), {"--m", rows});
  return command;
}

// "NOT RUN: 1 kernel (tiled); gemm_host passed in its place: " in front of what was checked.
std::string not_run_text(const std::vector<std::string>& kernels) {
  return fmt::format("NOT RUN: {} ({}); gemm_host passed in {} place: ",
                     count_of(static_cast<int64_t>(kernels.size()), "kernel"),
                     llvm::join(kernels, ", "), kernels.size() == 1 ? "its" : "their");
}

// The last line; true: every check was made and passed. `seconds` is what it all took.
bool summarise(const HarnessResult& result, const std::vector<HarnessProgram>& programs,
               const VerifyOptions& options, double seconds, VerifyReport& report) {
  llvm::raw_string_ostream out(report.summary);
  const auto count = static_cast<int64_t>(programs.size());
  const int64_t expected = checks_of(programs);
  const int64_t made = result.passed + result.failed;
  const bool passed = result.ended && result.exit_status == 0 && result.passed == expected;
  if (!result.ended)
    out << "FAIL: the harness ended early with " << result.end << " after "
        << count_of(made, "check")
        << (made > 0 ? ", the last of them: " + result.lines.back() : "");
  else if (result.failed > 0)
    out << "FAIL: " << count_of(result.failed, "check") << " of " << made << " failed, "
        << count_of(count, "plan");
  else if (!passed)
    out << "FAIL: the harness ended with " << result.end << " after " << count_of(made, "check")
        << " instead of " << expected;
  else
    out << (report.not_run.empty() ? "PASS: " : not_run_text(report.not_run))
        << count_of(count, "plan") << ", " << extent(programs, options.runs);
  out << ", seed " << options.seed << fmt::format(", {:.1f} s", seconds);
  return passed;
}

// The programs for the host target. Kernels of the user's own run there themselves if they can;
// else the host target's kernel, which computes the tiles of every plan, stands in, and `not_run`
// names them.
std::vector<HarnessProgram> bring_to_host(const std::vector<HarnessProgram>& programs,
                                          const std::vector<std::string>& compiler, int runs,
                                          const WorkDir& dir, std::vector<std::string>& not_run,
                                          Diagnostics& diagnostics) {
  const bool own = std::ranges::any_of(programs, has_plain);
  if (own && !write_resources(/*templates=*/false, dir, diagnostics)) return {};
  return on_host(programs, [&](const Plan& plan) {
    const std::string obstacle = obstacle_on_cpu(plan, runs, compiler, dir, diagnostics);
    if (obstacle.empty()) return true;
    const std::string name = printable(plan.source.own->spec.function.value);
    diagnostics.warning(
        plan.source.own->spec.where,
        fmt::format("gemm_host stands in for {} on the host target, and the plan is checked, the "
                    "kernel is not: {}; verify on GPUs",
                    name, obstacle));
    if (!llvm::is_contained(not_run, name)) not_run.push_back(name);
    return false;
  });
}

// Generates and compiles the harness in `dir`. Returns its path, or "" after setting `exit_code`.
std::string make_harness(const std::vector<HarnessProgram>& programs, const TargetChoice& target,
                         int jobs, const std::string& cache, WorkDir& dir, Progress& progress,
                         Diagnostics& diagnostics, int& exit_code) {
  const SourcesResult sources =
      dir.ok() ? write_sources(programs, target.cuda, dir, progress, diagnostics)
               : SourcesResult::not_written;
  exit_code = sources == SourcesResult::not_written ? kNotWritten : kFailed;
  if (sources != SourcesResult::written) return "";
  const BuildPlan plan = target.cuda ? plan_cuda_build(programs, target.tools, target.sm, dir)
                                     : plan_host_build(programs, target.compiler, dir);
  const BuildResult built = build_harness(plan, jobs, cache, dir, progress, diagnostics);
  exit_code = built == BuildResult::not_written ? kNotWritten : kFailed;
  return built == BuildResult::built ? plan.harness : "";
}

}  // namespace

int verify(const std::vector<Input>& inputs, const VerifyOptions& options, llvm::raw_ostream& out,
           VerifyReport& report, Diagnostics& diagnostics) {
  const auto start = std::chrono::steady_clock::now();
  const InterruptGuard guard;
  Progress progress;
  std::vector<HarnessProgram> programs =
      plan_cases(expand(inputs, options.sweeps), progress, diagnostics);
  if (programs.empty()) {
    if (diagnostics.ok() && !interrupted()) diagnostics.error("there is nothing to verify");
    return kFailed;
  }
  if (!check_rows(programs, options.run_rows, diagnostics)) return kFailed;
  const std::optional<TargetChoice> target =
      choose_target(programs, options.target, options.no_run, diagnostics);
  if (!target) return kFailed;
  report.target = target->cuda ? "cuda" : "host";
  report.target_reason = target->reason;
  if (!target->reason.empty()) out << "host target: " << target->reason << "\n";

  WorkDir dir(options.keep_dir, diagnostics);
  if (!target->cuda) {
    programs =
        bring_to_host(programs, target->compiler, options.runs, dir, report.not_run, diagnostics);
    if (!diagnostics.ok()) return dir.ok() ? kFailed : kNotWritten;
  }
  make_names_unique(programs);
  int exit_code = kFailed;
  const std::string harness = make_harness(programs, *target, options.jobs, options.cache_dir, dir,
                                           progress, diagnostics, exit_code);
  if (harness.empty()) return exit_code;

  progress.clear();
  const std::vector<std::string> command = harness_command(harness, options);
  if (options.no_run) {
    report.summary = "not run: " + llvm::join(command, " ");
    out << report.summary << "\n";
    return report.not_run.empty() ? kPassed : kNotRun;
  }
  const HarnessResult result = run_harness(command, idle_seconds(programs), out, progress);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  report.lines = result.lines;
  report.passed = result.passed, report.failed = result.failed;
  const bool passed = summarise(result, programs, options, elapsed.count(), report);
  out << report.summary << "\n";
  if (!passed && dir.temporary() && !interrupted()) dir.keep();
  if (!passed && !dir.temporary())
    out << "sources and harness are in " << printable(dir.path())
        << ": 'sh build.sh' compiles, './harness --only NAME' runs one program\n";
  if (!passed) return kFailed;
  return report.not_run.empty() ? kPassed : kNotRun;
}

}  // namespace tilepost
