// The picture of `tilepost explain --svg`.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// An SVG file of the first of these plans. It shows the timelines of the plan and of the sequence,
// the load of the links, and the map of tiles. It has less than 300 KB, whatever the plan. Where no
// times are predicted it shows the map alone. Requires a plan.
std::string draw_picture(const std::vector<Plan>& plans);

}  // namespace tilepost
