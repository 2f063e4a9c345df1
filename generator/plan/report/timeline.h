// The predicted timeline as text: what the GEMM and the collectives do, on one axis.
#pragma once

#include <string>

#include "generator/plan/plan.h"

namespace tilepost {

// One lane per line, each column a fixed number of microseconds, a group drawn with its own letter.
// Empty for a plan without prediction.
std::string draw_timeline(const Plan& plan);

}  // namespace tilepost
