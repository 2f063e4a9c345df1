// Weaves a small kernel given as a string.
#pragma once

#include <string>

#include "generator/weave/weave.h"
#include "tests/catch.h"

namespace tilepost {

// A request for function `gemm` of a .cu file with that text.
WeaveRequest request_for(const std::string& source);

// Weaves it; fails the test and prints the errors if it is refused.
WovenKernel weave_kernel(const WeaveRequest& request);

// The body woven from `code`, which follows the include of the marks.
std::string woven_body(const std::string& code);

// The messages of a refused weave.
std::string refusal(const WeaveRequest& request);

}  // namespace tilepost
