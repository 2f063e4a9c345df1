// The text of `tilepost explain`.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/plan/report/spans.h"

namespace tilepost {

// Tiles, waves, groups, bytes, SM budget, a timeline. Lines have at most 120 columns.
std::string explain_plan(const Plan& plan, const Measured* measured = nullptr);

// Explains all plans of a program. Where the plans of one architecture each serve a range of m, a
// table of these ranges comes before them. `measured`: a run of the first plan; null: none.
std::string explain_plans(const std::vector<Plan>& plans, const Measured* measured = nullptr);

}  // namespace tilepost
