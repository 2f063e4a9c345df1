// Weaves a kernel of the user's own that says by marks where its tiles are chosen, stored and done.
//
// It stays a kernel: its marks become the plan's schedule, places and signals, and the view that
// they need is its last parameter. Behind it comes what launches it: with the arguments that the
// spec gives, or by the launcher that its author has written.
#pragma once

#include <optional>
#include <string>

#include "generator/diagnostics.h"
#include "generator/weave/own_request.h"
#include "generator/weave/weave.h"

namespace tilepost {

// In the user's namespace, for the CPU shim: a thread of a block, as a function of a, b, c, the
// shape and the view.
inline constexpr char kWovenThread[] = "woven_thread_";

// Reports every refusal at its place in `source` and returns nothing if there was one.
std::optional<WovenKernel> weave_marked(const OwnRequest& request, Diagnostics& diagnostics);

}  // namespace tilepost
