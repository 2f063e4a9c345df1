#include "generator/driver.h"

#include "generator/own/examine.h"
#include "generator/plan/make_plan.h"
#include "llvm/Support/Path.h"

namespace tilepost {

std::vector<Plan> plan_input(const Input& input, Diagnostics& diagnostics) {
  const std::optional<Spec> spec = read_spec(input.path, input.text, input.overrides, diagnostics);
  if (!spec) return {};
  std::shared_ptr<const OwnKernel> own;
  if (spec->kernel && !(own = examine_kernel(*spec, input.path, diagnostics))) return {};
  return make_plans(*spec, h200_nvlink_profile(), diagnostics, std::move(own));
}

Generated generate_from(const Input& input, Diagnostics& diagnostics) {
  const std::vector<Plan> plans = plan_input(input, diagnostics);
  if (plans.empty()) return {};
  Generated generated = {emit(plans, llvm::sys::path::filename(input.path), diagnostics),
                         {input.path}};
  if (const auto& own = plans.front().source.own)
    for (const OneFile::File& file : own->source.files) generated.sources.push_back(file.name);
  return generated;
}

std::vector<OutputFile> generate(const Input& input, Diagnostics& diagnostics) {
  return generate_from(input, diagnostics).files;
}

}  // namespace tilepost
