// Environment variables that override a plan. NCCL gives its environment precedence over the
// configuration with which a communicator is made. The runtime reports such variables as warnings,
// and refuses them only where runs could not end.
#pragma once

#include <string>

#include "runtime/core/error.h"

namespace tilepost::cuda {

// One line for each variable that is set and changes what the plan decided. The text is empty if
// there is none.
std::string environment_warnings(const tilepost_plan_t& plan);

// Returns TILEPOST_UNSUPPORTED where the environment would keep the plan's runs from ending.
tilepost_result_t check_environment(const tilepost_plan_t& plan);

}  // namespace tilepost::cuda
