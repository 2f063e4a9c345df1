// A kernel of the user's own as the weaver is asked for it.
#pragma once

#include "generator/own/own_kernel.h"
#include "generator/weave/unmarked/weave_unmarked.h"

namespace tilepost {

// What the plan says of the kernel, in C++. `one_arch`: there are no plans for others.
UnmarkedRequest unmarked_request(const OwnKernel& own, bool one_arch);

}  // namespace tilepost
