// The text of `tilepost explain`.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// Tiles, waves, groups, bytes, SM budget, a timeline. Lines have at most 120 columns.
std::string explain_plan(const Plan& plan);

// The same of all plans of a program. Before those of one architecture that each have a range of m,
// which has which.
std::string explain_plans(const std::vector<Plan>& plans);

}  // namespace tilepost
