// Weaves a kernel of the user's own whose marks show where tiles are chosen, stored and done.
//
// The woven text is still a kernel. Code for the plan's schedule, places and signals replaces the
// marks. This code needs the view, which becomes the kernel's last parameter. A function behind the
// kernel launches it, with the arguments that the spec gives or by the author's own launcher.
#pragma once

#include <optional>
#include <string>

#include "generator/diagnostics.h"
#include "generator/weave/own_request.h"
#include "generator/weave/weave.h"

namespace tilepost {

// The function that a thread of a block runs on the CPU shim, in the user's namespace. Its
// parameters are a, b, c, the shape and the view.
inline constexpr char kWovenThread[] = "woven_thread_";

// Reports every refusal at its place in `source`. Returns nothing if anything was refused.
std::optional<WovenKernel> weave_marked(const OwnRequest& request, Diagnostics& diagnostics);

}  // namespace tilepost
