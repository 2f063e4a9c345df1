// `<name>.plan.json`: the plans as JSON, keys in a fixed order, written for reading and for diff.
#pragma once

#include <string>
#include <vector>

#include "generator/plan/plan.h"

namespace tilepost {

// All plans of one program.
std::string plans_to_json(const std::vector<Plan>& plans);

}  // namespace tilepost
