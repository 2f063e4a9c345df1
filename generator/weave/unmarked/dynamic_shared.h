// Dynamic shared memory on the CPU shim, where nvcc does not allocate it.
#pragma once

#include <string>

#include "generator/clang/parser.h"

namespace tilepost {

// Definitions for the CPU shim of the arrays that a kernel and the code it reaches declare `extern
// __shared__`. Each has `bytes` bytes and is in its namespace inside the namespace `user`. In nvcc
// several such names are the same memory; here they make a text that does not compile.
std::string define_dynamic_shared(const Parsed& parsed, const clang::FunctionDecl* kernel,
                                  int bytes);

}  // namespace tilepost
