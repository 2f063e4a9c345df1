// What a user should know of a plan that is right: that it is slow and need not be, that its times
// are another machine's, that a field of the spec does nothing.
#pragma once

#include <functional>

#include "generator/plan/choose/draft.h"

namespace tilepost {

// Reports it as warnings, at the fields that are the cause. The draft's plan is complete.
// `predicted_us`: what the same architecture's plan of another spec is predicted to take, 0 if it
// has none; asked only where rows are not aligned.
void warn_of_plan(const Draft& draft, const std::function<double(const Spec&)>& predicted_us);

}  // namespace tilepost
