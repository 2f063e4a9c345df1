// A kernel of the user's own as the weaver is asked for it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/own/own_kernel.h"
#include "generator/plan/plan.h"
#include "generator/weave/weave.h"

namespace tilepost {

// Weaves the plan's kernel of the user's own, with what the plan says of it in C++. `one_arch`:
// there are no plans for others. Nothing after a refusal.
std::optional<WovenKernel> weave_own(const Plan& plan, bool one_arch, Diagnostics& diagnostics);

// For harnesses that hold the woven kernel against it: a source with the kernel as its author wrote
// it, and a function that says how it is launched, as runtime/harness/plain_launch.h has it. The
// plans are a program's, of a kernel of the user's own. "" after an error.
std::string emit_plain(const std::vector<Plan>& plans, Diagnostics& diagnostics);

// The name of that function in the source of program `name`.
std::string plain_function(std::string_view name);

}  // namespace tilepost
