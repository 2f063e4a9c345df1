#include "generator/driver.h"

#include "generator/plan/make_plan.h"
#include "llvm/Support/Path.h"

namespace tilepost {

std::vector<Plan> plan_input(const Input& input, Diagnostics& diagnostics) {
  const std::optional<Spec> spec = read_spec(input.path, input.text, input.overrides, diagnostics);
  if (!spec) return {};
  return make_plans(*spec, h200_nvlink_profile(), diagnostics);
}

std::vector<OutputFile> generate(const Input& input, Diagnostics& diagnostics) {
  const std::vector<Plan> plans = plan_input(input, diagnostics);
  if (plans.empty()) return {};
  return emit(plans, llvm::sys::path::filename(input.path), diagnostics);
}

}  // namespace tilepost
