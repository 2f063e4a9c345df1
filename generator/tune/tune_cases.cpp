#include "generator/tune/tune_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "generator/harness/build.h"
#include "generator/harness/process.h"
#include "generator/plan/make_plan.h"
#include "generator/plan/tuning/match.h"
#include "generator/spec/layer.h"
#include "generator/tune/results.h"
#include "llvm/Support/Path.h"

namespace tilepost {
namespace {

constexpr int kDone = 0, kFailed = 1, kNotWritten = 3;

using Clock = std::chrono::steady_clock;

// The newest of the spec's architectures that the GPU runs; nothing if there is none.
std::optional<Arch> arch_for(const Spec& spec, int sm) {
  std::optional<Arch> best;
  for (const Arch arch : spec.archs.value)
    if (serves_gpu(arch, sm) && (!best || compute_capability(arch) > compute_capability(*best)))
      best = arch;
  return best;
}

// Why this machine cannot measure the spec, planned for the profile; "" if it can.
std::string why_not(const Spec& spec, const MachineProfile& profile, const Gpus& gpus) {
  if (!arch_for(spec, gpus.sm)) {
    const Arch first = spec.archs.value.front();
    return first == Arch::host
               ? std::string(
                     "it is planned for host, and GPUs are measured; choose one's "
                     "architecture with --arch")
               : fmt::format(
                     "it is planned for {}, this machine's GPUs are sm_{}; choose another "
                     "with --arch",
                     name_of(first), gpus.sm);
  }
  if (row_of(spec.pattern.value).has_experts())
    return fmt::format("its pattern is {}, which tune has no runs of", pattern_name(spec));
  if (row_of(spec.gemm.out.value).is_narrow())
    return fmt::format("its output is {}, which tune has no runs of; tune it with another gemm.out",
                       name_of(spec.gemm.out.value));
  if (spec.ranks.value > gpus.count)
    return fmt::format("it has {} ranks, and this machine has {} GPU{}", spec.ranks.value,
                       gpus.count, gpus.count == 1 ? "" : "s");
  if (!gpus.name.empty() && !is_gpu_of(gpus.name, profile))
    return fmt::format(
        "plans are made for '{}', whose GPUs are '{}', and this machine has '{}'; "
        "name its profile with --machine",
        profile.name, profile.gpu, gpus.name);
  return "";
}

// The programs of candidate plans: "plan_1", the planner's choice, "plan_2" …
std::vector<HarnessProgram> programs_of(const TuneCase& one, std::vector<Plan> plans) {
  std::vector<HarnessProgram> programs;
  for (Plan& plan : plans) {
    const std::string name = "plan_" + std::to_string(programs.size() + 1);
    plan.name = name;
    programs.push_back({name, one.spec_name, "", {std::move(plan)}});
  }
  return programs;
}

bool is_known(const TuneCase& one, const std::string& gpu, const TuningFile& file) {
  const TuningEntry* entry = find_entry(file, one.key, one.machine->profile.name);
  return entry != nullptr && (gpu.empty() || entry->machine.gpu == gpu);
}

}  // namespace

std::vector<TuneCase> read_cases(const std::vector<Case>& cases, const Gpus& gpus,
                                 Diagnostics& diagnostics) {
  std::vector<TuneCase> read;
  for (const Case& each : cases) {
    if (diagnostics.errors() >= Diagnostics::kMaxErrors) break;
    std::optional<SpecOfInput> spec = read_input(each.input, diagnostics);
    if (!spec) {
      if (!each.varied.empty()) diagnostics.note({}, "with " + each.varied);
      continue;
    }
    const std::string why = why_not(spec->spec, each.input.machine->profile, gpus);
    if (!why.empty()) {
      diagnostics.error(fmt::format("cannot tune '{}': {}", spec->spec.name.value, why));
      continue;
    }
    const TuningKey key = key_of(spec->spec, arch_for(spec->spec, gpus.sm).value_or(Arch::host));
    read.push_back({fmt::format("{} at {}", spec->spec.name.value, shape_text(key)),
                    each.input.machine, std::move(*spec), key,
                    llvm::sys::path::filename(each.input.path).str()});
  }
  if (!diagnostics.ok()) read.clear();
  return read;
}

int tune_cases(const std::vector<TuneCase>& cases, const TuneOptions& options,
               const std::string& gpu, TuneRunner& runner, TuningFile& file,
               const TuningStore& store, llvm::raw_ostream& out, Diagnostics& diagnostics) {
  Progress progress;
  bool failed = false;
  size_t kept = 0;
  for (size_t i = 0; i < cases.size() && !interrupted(); ++i) {
    const TuneCase& one = cases[i];
    if (!options.again && is_known(one, gpu, file)) {
      out << one.title << ": '" << file.path << "' has it; --again measures it again\n";
      ++kept;
      continue;
    }
    const Clock::time_point begin = Clock::now();
    progress.update("planning " + one.title, i, cases.size());
    const std::vector<HarnessProgram> programs =
        programs_of(one, candidate_plans(one.read.spec, one.machine->profile, one.key.arch,
                                         options.candidates, diagnostics, one.read.own));
    if (programs.empty()) return kFailed;
    const std::chrono::duration<double> planned = Clock::now() - begin;
    BenchLog log;
    const TuneRunner::Result ran =
        runner.run(programs, {options.seconds - planned.count(), one.key.registered, i}, log,
                   progress, diagnostics);
    progress.clear();
    if (ran == TuneRunner::Result::not_written) return kNotWritten;
    if (interrupted()) break;
    const int errors = diagnostics.errors();
    std::optional<TuningEntry> entry;
    if (ran == TuneRunner::Result::ran) entry = entry_of(one, programs, log, diagnostics);
    failed = failed || !entry || diagnostics.errors() > errors;
    if (!entry) {
      diagnostics.error(fmt::format("no plan of {} was measured{}", one.title,
                                    log.failure().empty() ? std::string() : ": " + log.failure()));
      continue;
    }
    entry->graphs = options.graph;
    out << table_of(one, *entry, pick_text(pick_of(programs.front().plans.front())));
    out.flush();
    put_entry(std::move(*entry), file);
    if (!store.write()) return kNotWritten;
    ++kept;
  }
  if (interrupted())
    diagnostics.note({}, fmt::format("{} of {} are in '{}'; the same command goes on with the rest",
                                     kept, cases.size(), file.path));
  return failed || kept < cases.size() ? kFailed : kDone;
}

}  // namespace tilepost
