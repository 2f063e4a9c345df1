// Has kernels of the user's own woven.
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

// Weaves the plan's kernel of the user's own. `one_arch`: whether the program has plans for one
// architecture only. Returns nothing after a refusal.
std::optional<WovenKernel> weave_own(const Plan& plan, bool one_arch, Diagnostics& diagnostics);

// A source with the kernel as its author wrote it, and a function that describes how the kernel is
// launched, in the form of runtime/harness/plain_launch.h. Harnesses compare the woven kernel with
// the plain one. `plans` are those of one program with a kernel of the user's own. "" after an
// error.
std::string emit_plain(const std::vector<Plan>& plans, Diagnostics& diagnostics);

// The name of that function in the source of program `name`.
std::string plain_function(std::string_view name);

}  // namespace tilepost
