// What a plan does with its operands: types, epilogue and tensor maps.
#pragma once

#include "generator/plan/verify_blocks.h"

namespace tilepost {

void verify_operands(const Plan& plan, Findings& findings);

}  // namespace tilepost
