// What a user should know about a correct plan: that it is slow and need not be, that its times are
// those of another machine, or that a field of the spec does nothing.
#pragma once

#include <functional>

#include "generator/plan/choose/draft.h"

namespace tilepost {

// Warns of these things, at the fields that cause them. The draft's plan is complete.
// `predicted_us` returns the predicted time of the same architecture's plan of another spec, us, or
// 0 if that spec has no plan. It is called only where rows are not aligned.
void warn_of_plan(const Draft& draft, const std::function<double(const Spec&)>& predicted_us);

}  // namespace tilepost
