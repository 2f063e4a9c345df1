// The predicted timeline as text: what the GEMM and the collectives do, on one axis.
#pragma once

#include <string>

#include "generator/plan/plan.h"

namespace tilepost {

// Returns one lane per line. Each column stands for a fixed number of microseconds, and a group is
// drawn with its own digit or letter. Empty for a plan without prediction.
std::string draw_timeline(const Plan& plan);

}  // namespace tilepost
