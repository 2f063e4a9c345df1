#include "generator/driver.h"

#include <fmt/format.h>

#include "generator/own/examine.h"
#include "generator/plan/make_plan.h"
#include "generator/plan/tuning/match.h"
#include "generator/spec/identifier.h"
#include "llvm/Support/Path.h"

namespace tilepost {

namespace {

// Appends the input's suffix to the name, where that makes a name.
bool extend_name(const Input& input, Located<std::string>& name, Diagnostics& diagnostics) {
  if (input.suffix.empty()) return true;
  name.value += input.suffix;
  const std::string reason = why_not_a_name(name.value);
  if (!reason.empty())
    diagnostics.error(name.where, fmt::format("name '{}' {}", name.value, reason));
  return reason.empty();
}

}  // namespace

std::vector<std::string> files_read(const Input& input, const std::vector<Plan>& plans) {
  std::vector<std::string> sources = {input.path};
  if (!input.machine->file.empty()) sources.push_back(input.machine->file);
  if (input.tuning) sources.push_back(input.tuning->path);
  if (const auto& own = plans.front().source.own)
    for (const OneFile::File& file : own->source.files) sources.push_back(file.name);
  return sources;
}

std::optional<SpecOfInput> read_input(const Input& input, Diagnostics& diagnostics) {
  std::optional<Spec> spec = read_spec(input.path, input.text, input.overrides, diagnostics);
  if (!spec || !extend_name(input, spec->name, diagnostics)) return std::nullopt;
  std::shared_ptr<const OwnKernel> own;
  if (spec->kernel && !(own = examine_kernel(*spec, input.path, diagnostics))) return std::nullopt;
  return SpecOfInput{std::move(*spec), std::move(own)};
}

std::vector<Plan> plan_input(const Input& input, Diagnostics& diagnostics) {
  const std::optional<SpecOfInput> read = read_input(input, diagnostics);
  if (!read) return {};
  const MachineProfile& profile = input.machine->profile;
  std::vector<TunedPick> picks;
  if (input.tuning) picks = picks_for(*input.tuning, read->spec, profile, diagnostics);
  return make_plans(read->spec, profile, diagnostics, read->own, picks);
}

Generated generate_from(const Input& input, Diagnostics& diagnostics) {
  const std::vector<Plan> plans = plan_input(input, diagnostics);
  if (plans.empty()) return {};
  return {emit(plans, llvm::sys::path::filename(input.path), diagnostics, input.timestamps),
          files_read(input, plans)};
}

std::vector<OutputFile> generate(const Input& input, Diagnostics& diagnostics) {
  return generate_from(input, diagnostics).files;
}

std::string weave_input(const Input& input, std::vector<std::string>& sources,
                        Diagnostics& diagnostics) {
  const std::vector<Plan> plans = plan_input(input, diagnostics);
  if (plans.empty()) return "";
  sources = files_read(input, plans);
  return emit_woven(plans, llvm::sys::path::filename(input.path), diagnostics);
}

}  // namespace tilepost
