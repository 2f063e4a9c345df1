// Refuses a launch that cannot succeed, by what the kernel's declaration says of its blocks.
#pragma once

#include "generator/clang/instantiate.h"
#include "generator/diagnostics.h"
#include "generator/own/own_kernel.h"

namespace tilepost {

// Compares kernel.threads and kernel.cluster with the kernel's launch bounds and cluster, and its
// shared variables with what a block may have. Returns whether they agree.
bool check_launch_limits(const Parsed& parsed, const Instance& instance, const OwnKernel& own,
                         Diagnostics& diagnostics);

}  // namespace tilepost
