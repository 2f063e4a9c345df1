// Environment variables that overrule a plan: NCCL gives its environment precedence over the
// configuration that a communicator is made with. They are not fought but reported as warnings, and
// refused only where runs could not end.
#pragma once

#include <string>

#include "runtime/core/error.h"

namespace tilepost::cuda {

// One line per variable that is set and changes what the plan decided; empty when there is none.
std::string environment_warnings(const tilepost_plan_t& plan);

// TILEPOST_UNSUPPORTED where the environment would keep the plan's runs from ending.
tilepost_result_t check_environment(const tilepost_plan_t& plan);

}  // namespace tilepost::cuda
