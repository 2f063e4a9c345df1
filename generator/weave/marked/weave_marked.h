// Weaves a kernel of the user's own that says by marks where its tiles are chosen, stored and done.
//
// The woven text is still a kernel. Its marks become the plan's schedule, places and signals, and
// the view that they need is its last parameter. Behind the kernel comes a function that launches
// it, with the arguments that the spec gives or by the launcher that its author has written.
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

// Reports every refusal at its place in `source` and returns nothing if there was one.
std::optional<WovenKernel> weave_marked(const OwnRequest& request, Diagnostics& diagnostics);

}  // namespace tilepost
