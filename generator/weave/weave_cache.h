// Weaving memoised: plans that differ only in numbers the kernel does not fold share one weave.
#pragma once

#include "generator/weave/weave.h"

namespace tilepost {

// weave(), remembering what succeeded in this process. Not thread-safe.
std::optional<WovenKernel> weave_cached(const WeaveRequest& request, Diagnostics& diagnostics);

}  // namespace tilepost
