// Shared memory of a kernel of the user's own.
#pragma once

#include "generator/clang/instantiate.h"
#include "generator/clang/parser.h"
#include "generator/own/own_kernel.h"

namespace tilepost {

// The bytes of the __shared__ variables of a known size that the kernel and what it calls use.
int64_t static_shared_bytes(const Parsed& parsed, const Instance& instance);

// Warns where the kernel uses dynamic shared memory and the spec gives its blocks none.
void check_shared_memory(const Parsed& parsed, const Instance& instance, const OwnKernel& own);

}  // namespace tilepost
