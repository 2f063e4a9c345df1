// Checks what `kernel.arguments` gives a kernel's parameters.
#pragma once

#include "generator/clang/instantiate.h"
#include "generator/clang/parser.h"
#include "generator/own/own_kernel.h"

namespace tilepost {

// Whether every parameter is given a value of its type, except those that a launcher gives. Names
// that are no parameters must not be given values. Reports each fault, in the spec or at the
// parameter.
bool check_arguments(const Parsed& parsed, const Instance& instance, const Spec& spec,
                     const OwnKernel& own, Diagnostics& diagnostics);

}  // namespace tilepost
