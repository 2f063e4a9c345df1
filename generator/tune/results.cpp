#include "generator/tune/results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generator/bench/revision.h"
#include "generator/bench/statistics.h"

namespace tilepost {
namespace {

constexpr const char* kMode = "tune";  // runtime/bench/ranks/tune_bench.cpp
constexpr const char* kVariant = "ours";

struct Result {
  MeasuredChoice measured;
  Pick pick;
};

// Tenths of a microsecond: events resolve half of one.
double rounded(double us) {
  return std::round(us * 10) / 10;
}

// What was measured of a program; nothing if it was not.
std::optional<Result> result_of(const HarnessProgram& program, const BenchLog& log,
                                Diagnostics& diagnostics) {
  const ProgramSamples& samples = log.of(program.name);
  const Plan& plan = program.plans.front();
  const std::string what = pick_text(pick_of(plan));
  if (samples.wrong() > 0) {
    diagnostics.error(fmt::format(
        "a plan computes {} wrong elements and is left out ({}); please report it with the spec",
        samples.wrong(), what));
    return std::nullopt;
  }
  if (!samples.failure.empty()) {
    diagnostics.note({}, fmt::format("a plan is left out ({}): {}", what, samples.failure));
    return std::nullopt;
  }
  const ModeSamples* mode = samples.mode(kMode);
  if (mode == nullptr) return std::nullopt;
  const auto us = mode->us.find(kVariant);
  if (us == mode->us.end() || us->second.empty()) return std::nullopt;
  const Summary summary = summarise(us->second);
  return Result{{what, rounded(summary.median), rounded(summary.p25), rounded(summary.p75),
                 rounded(plan.prediction.total), summary.n},
                pick_of(plan)};
}

TunedMachine machine_of(const TuneCase& one, const llvm::json::Object& record) {
  const auto text = [&](llvm::StringRef key) { return record.getString(key).value_or("").str(); };
  return {one.machine->profile.name,
          text("gpu"),
          record.getInteger("gpus").value_or(0),
          text("driver"),
          text("cuda"),
          text("nccl")};
}

}  // namespace

// Plans that were clearly slower have fewer samples than those that were measured to the end, of
// which the one with the least median wins.
std::optional<TuningEntry> entry_of(const TuneCase& one,
                                    const std::vector<HarnessProgram>& programs,
                                    const BenchLog& log, Diagnostics& diagnostics) {
  std::vector<Result> results;
  for (const HarnessProgram& program : programs)
    if (std::optional<Result> result = result_of(program, log, diagnostics))
      results.push_back(std::move(*result));
  if (results.empty()) return std::nullopt;
  int64_t most = 0;
  for (const Result& result : results) most = std::max(most, result.measured.samples);
  const auto left_early = [&](const Result& result) { return result.measured.samples < most; };
  std::ranges::stable_sort(results, [&](const Result& x, const Result& y) {
    if (left_early(x) != left_early(y)) return left_early(y);
    return x.measured.us < y.measured.us;
  });
  TuningEntry entry;
  entry.key = one.key;
  entry.machine = machine_of(one, log.machine());
  stamp(entry);
  entry.revision = tool_revision();
  entry.choice = results.front().pick;
  for (Result& result : results) entry.measured.push_back(std::move(result.measured));
  return entry;
}

std::string table_of(const TuneCase& one, const TuningEntry& entry, const std::string& choice) {
  std::string text = fmt::format("{}: {} plans measured on {}\n", one.title, entry.measured.size(),
                                 entry.measured_on());
  text += fmt::format("  {:>9}  {:>19}  {:>12}  plan\n", "us", "quartiles", "predicted us");
  const MeasuredChoice& fastest = entry.measured.front();
  for (const MeasuredChoice& measured : entry.measured)
    text += fmt::format("  {:9.1f}  {:9.1f} {:9.1f}  {:12.1f}  {}\n", measured.us, measured.low,
                        measured.high, measured.predicted, measured.what);
  const auto planned = std::ranges::find(entry.measured, choice, &MeasuredChoice::what);
  if (planned != entry.measured.end())
    text +=
        planned->what == fastest.what
            ? "  the planner's choice is the fastest\n"
            : fmt::format("  the fastest is {:.3f}x as fast as the planner's choice, {:.1f} us\n",
                          planned->us / fastest.us, planned->us);
  return text;
}

}  // namespace tilepost
