// The text of `tilepost explain`.
#pragma once

#include <string>

#include "generator/plan/plan.h"

namespace tilepost {

// Tiles, waves, groups, bytes, SM budget, a timeline. Lines have at most 120 columns.
std::string explain_plan(const Plan& plan);

}  // namespace tilepost
