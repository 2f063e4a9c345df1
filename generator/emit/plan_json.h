// `<name>.plan.json`: the plans as JSON, keys in a fixed order, written for reading and for diff.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// All plans of one program.
std::string plans_to_json(const std::vector<Plan>& plans);

// For `tilepost explain --json`: the same plans as an array, each with a short form of its
// prediction.
std::string explained_to_json(const std::vector<Plan>& plans);
// The short form of a plan's prediction alone.
std::string prediction_to_json(const Plan& plan);

}  // namespace tilepost
