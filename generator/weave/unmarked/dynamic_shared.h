// Defines dynamic shared memory for the CPU shim, where no CUDA launch provides it.
#pragma once

#include <string>

#include "generator/clang/parser.h"

namespace tilepost {

// Definitions for the CPU shim of the arrays that a kernel and the code it reaches declare `extern
// __shared__`. Each array has at least `bytes` bytes. Inside of the namespace `user` it is in the
// namespace of its declaration. With nvcc several such arrays are the same memory. Here the text
// then does not compile.
std::string define_dynamic_shared(const Parsed& parsed, const clang::FunctionDecl* kernel,
                                  int bytes);

}  // namespace tilepost
