#include "generator/program/made_program.h"

#include "generator/plan/report/explain.h"
#include "generator/plan/report/picture.h"
#include "generator/plan/stated_plan.h"
#include "runtime/core/error.h"

namespace tilepost {

MadeProgram::MadeProgram(std::vector<Plan> plans, std::string warnings)
    : plans_(std::move(plans)), warnings_(std::move(warnings)) {
  for (const Plan& plan : plans_) {
    stated_.push_back(stated_plan(plan));
    variants_.push_back(variant_of(plan).key());
  }
  program_ = {TILEPOST_ABI_VERSION, plans_.front().name.c_str(),
              static_cast<int32_t>(stated_.size()), stated_.data()};
}

const std::string& MadeProgram::explanation() {
  const std::lock_guard lock(texts_);
  if (explanation_.empty()) explanation_ = explain_plans(plans_);
  return explanation_;
}

const std::string& MadeProgram::picture() {
  const std::lock_guard lock(texts_);
  if (picture_.empty()) picture_ = draw_picture(plans_);
  return picture_;
}

tilepost_result_t MadeProgram::load(Catalogue& catalogue) {
  std::vector<std::shared_ptr<const LoadedKernel>> kernels(plans_.size());
  for (size_t i = 0; i < plans_.size(); ++i)
    TILEPOST_TRY(catalogue.find(plans_[i].arch, variants_[i], kernels[i]));
  for (size_t i = 0; i < plans_.size(); ++i) {
    stated_[i].kernel.function = kernels[i]->function;
    stated_[i].kernel.host_function = kernels[i]->host_function;
  }
  kernels_ = std::move(kernels);
  return TILEPOST_OK;
}

}  // namespace tilepost
