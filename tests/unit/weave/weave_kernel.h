// Weaves a small kernel given as a string.
#pragma once

#include <string>

#include "generator/weave/weave.h"
#include "tests/catch.h"

namespace tilepost {

// A request for function `gemm` of a .cu file with the text `source`.
WeaveRequest request_for(const std::string& source);

// Weaves the request. If it is refused, prints the errors and fails the test.
WovenKernel weave_kernel(const WeaveRequest& request);

// The body woven from `code`, which follows the include of the marks.
std::string woven_body(const std::string& code);

// The messages of a refused weave.
std::string refusal(const WeaveRequest& request);

}  // namespace tilepost
