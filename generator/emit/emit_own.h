// A kernel of the user's own as the weaver is asked for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/own/own_kernel.h"
#include "generator/plan/plan.h"
#include "generator/weave/unmarked/weave_unmarked.h"

namespace tilepost {

// What the plan says of its kernel of the user's own, in C++. `one_arch`: there are no plans for
// others.
UnmarkedRequest unmarked_request(const Plan& plan, bool one_arch);

// For harnesses that hold the woven kernel against it: a source with the kernel as its author wrote
// it, and a function that says how it is launched, as runtime/harness/plain_launch.h has it. The
// plans are a program's, of a kernel of the user's own. "" after an error.
std::string emit_plain(const std::vector<Plan>& plans, Diagnostics& diagnostics);

// The name of that function in the source of program `name`.
std::string plain_function(std::string_view name);

}  // namespace tilepost
