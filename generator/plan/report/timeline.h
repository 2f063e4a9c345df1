// The timeline as text, as predicted and, beside it, as measured: what the GEMM and the collectives
// do, on one axis.
#pragma once

#include <string>

#include "generator/plan/plan.h"
#include "generator/plan/report/spans.h"

namespace tilepost {

// Returns one lane per line. Each column stands for a fixed number of microseconds, and a group is
// drawn with its own digit or letter. `measured`, here and below: null if nothing is. Empty for a
// plan without prediction.
std::string draw_timeline(const Plan& plan, const Measured* measured = nullptr);

}  // namespace tilepost
