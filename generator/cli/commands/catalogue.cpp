// `tilepost catalogue`: compiled kernels for programs that are made at run time.
#include <fmt/format.h>

#include <algorithm>

#include "generator/catalogue/catalogue.h"
#include "generator/catalogue/few_kernels.h"
#include "generator/catalogue/usual_specs.h"
#include "generator/cli/commands.h"
#include "generator/cli/files.h"
#include "generator/harness/process.h"
#include "generator/plan/choose/ranges.h"
#include "generator/plan/make_plan.h"
#include "generator/silent_diagnostics.h"
#include "generator/spec/names.h"
#include "llvm/Support/raw_ostream.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

// Plans the specs of the command line.
bool plan_given(const Options& options, Variants& variants, Progress& progress,
                Diagnostics& diagnostics, int& exit_code) {
  const std::vector<Input> inputs = read_inputs(options, diagnostics, exit_code);
  if (inputs.empty()) return false;
  exit_code = kExitRejected;
  const std::vector<Case> cases = expand(inputs, options.sweeps, options.shapes);
  for (size_t i = 0; i < cases.size() && diagnostics.errors() < Diagnostics::kMaxErrors; ++i) {
    if (interrupted()) return false;
    progress.update("planning", i, cases.size());
    const std::vector<Plan> plans = plan_input(cases[i].input, diagnostics);
    if (plans.empty() && !cases[i].varied.empty()) diagnostics.note({}, "with " + cases[i].varied);
    variants.add(plans, diagnostics);
  }
  return diagnostics.ok();
}

// Refuses a word of --pattern or --arch that would silently make an empty catalogue.
bool know_words(const Options& options, Diagnostics& diagnostics) {
  std::vector<std::string_view> patterns, archs = {name_of(Arch::host)};
  for (const PatternRow& row : kPatterns) patterns.emplace_back(row.name);
  for (const Arch arch : gpu_archs()) archs.emplace_back(name_of(arch));
  const auto know = [&](const char* flag, const auto& words,
                        const std::vector<std::string_view>& known) {
    for (const std::string& word : words)
      if (std::ranges::find(known, word) == known.end())
        diagnostics.error(fmt::format("{}: '{}' is unknown{}; 'tilepost list' has them", flag, word,
                                      did_you_mean(word, known)));
  };
  know("--pattern", options.patterns, patterns);
  know("--arch", options.archs, archs);
  return diagnostics.ok();
}

// The fields with those of -D in their places.
std::vector<FieldText> overridden(std::vector<FieldText> fields,
                                  const std::vector<Override>& overrides) {
  for (const Override& override : overrides) {
    if (override.path == "arch") continue;  // each spec of usual_specs() is for one of them
    std::erase_if(fields, [&](const FieldText& field) { return field.path == override.path; });
    fields.push_back(override);
  }
  return fields;
}

// What runs lose for which there is no kernel, as a part of their time: another library's GEMM and
// collective serve them, one after the other. With few rows the start of a collective is most of
// it.
constexpr double kFewLost = 3, kManyLost = 0.4;

// The kernels with which the layers lose least, at most `most`. Nothing is predicted for the host
// target, all of whose kernels are taken.
std::set<std::string> choose_few(const std::vector<UsualSpec>& specs, size_t most,
                                 const MachineProfile& machine, Progress& progress) {
  FewKernels kernels;
  for (size_t i = 0; i < specs.size() && !interrupted(); ++i) {
    progress.update("comparing kernels", i, specs.size());
    SilentDiagnostics diagnostics;
    const std::optional<Spec> spec = read_fields(specs[i].fields, diagnostics);
    if (!spec) continue;
    for (const Arch arch : spec->archs.value)
      for (const int64_t rows : range_bounds(spec->gemm.m.value))
        kernels.add(times_of_kernels(*spec, machine, arch, rows),
                    rows <= kFewRows ? specs[i].few_rows : specs[i].many_rows,
                    rows <= kFewRows ? kFewLost : kManyLost);
  }
  return kernels.choose(most);
}

// Plans the usual layers. Not every combination of types, layouts and architectures has a plan.
bool plan_usual(const Options& options, Variants& variants, Progress& progress,
                Diagnostics& diagnostics, int& exit_code) {
  exit_code = kExitUsage;
  if (!know_words(options, diagnostics)) return false;
  const std::shared_ptr<const Machine> machine = read_machine_of(options, diagnostics, exit_code);
  if (machine == nullptr) return false;
  exit_code = kExitRejected;
  std::vector<UsualSpec> specs = usual_specs(options.archs, options.patterns);
  for (UsualSpec& spec : specs) spec.fields = overridden(std::move(spec.fields), options.overrides);
  HasKernel is_chosen;
  if (options.most > 0)
    is_chosen = [keys = choose_few(specs, static_cast<size_t>(options.most), machine->profile,
                                   progress)](const std::string& key) {
      return keys.contains(key);
    };
  for (size_t i = 0; i < specs.size(); ++i) {
    if (interrupted()) return false;
    progress.update("planning", i, specs.size());
    variants.try_fields(specs[i].fields, machine->profile, is_chosen);
  }
  if (variants.plans().empty())
    diagnostics.error("none of the usual layers can be planned so; look at the fields of -D");
  return diagnostics.ok();
}

}  // namespace

int catalogue_command(const Options& options, Diagnostics& diagnostics) {
  const InterruptGuard guard;
  Progress progress;
  Variants variants;
  int exit_code = kExitOk;
  const auto plan = options.specs.empty() ? plan_usual : plan_given;
  if (!plan(options, variants, progress, diagnostics, exit_code)) return exit_code;
  progress.clear();
  if (options.dry_run) {
    for (const auto& [key, unused] : variants.plans()) llvm::outs() << key << "\n";
    return kExitOk;
  }
  const std::vector<OutputFile> files =
      compile_catalogue(variants, options.output_dir, options.jobs, progress, diagnostics);
  progress.clear();
  if (files.empty()) return kExitRejected;
  if (!write_files(options.output_dir, files, diagnostics)) return kExitIo;
  llvm::outs() << fmt::format("{} kernels of these plans are in {}, {} of them new\n",
                              variants.plans().size(), options.output_dir, files.size() - 1);
  return kExitOk;
}

}  // namespace tilepost
