// Dynamic shared memory of a kernel of the user's own.
#pragma once

#include "generator/clang/instantiate.h"
#include "generator/clang/parser.h"
#include "generator/own/own_kernel.h"

namespace tilepost {

// Warns where the kernel uses dynamic shared memory and the spec gives its blocks none.
void check_shared_memory(const Parsed& parsed, const Instance& instance, const OwnKernel& own);

}  // namespace tilepost
