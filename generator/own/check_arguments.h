// Checks what `kernel.arguments` gives a kernel's parameters.
#pragma once

#include "generator/clang/instantiate.h"
#include "generator/clang/parser.h"
#include "generator/own/own_kernel.h"

namespace tilepost {

// Whether `kernel.arguments` gives every parameter a value of its type, except parameters that a
// launcher gives, and gives no value to a name that is no parameter. Reports each fault, in the
// spec or at the parameter.
bool check_arguments(const Parsed& parsed, const Instance& instance, const Spec& spec,
                     const OwnKernel& own, Diagnostics& diagnostics);

}  // namespace tilepost
