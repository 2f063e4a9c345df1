// The picture of `tilepost explain --svg`.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"
#include "generator/plan/report/spans.h"

namespace tilepost {

// An SVG file of the first of these plans: what it does when, beside the sequence, the load of the
// links, and the map of its tiles. It has less than 300 KB, whatever the plan. Where no times
// are predicted it has the map alone. `measured`: a run of this plan, to be shown too; null: none.
// Requires a plan.
std::string draw_picture(const std::vector<Plan>& plans, const Measured* measured = nullptr);

}  // namespace tilepost
