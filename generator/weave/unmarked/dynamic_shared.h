// Dynamic shared memory where nvcc does not give it out.
#pragma once

#include <string>

#include "generator/clang/parser.h"

namespace tilepost {

// Definitions, for the CPU shim, of the arrays that a kernel and what it reaches declare `extern
// __shared__`, of so many bytes, for namespaces inside a namespace `user`. nvcc lets several names
// be of the same memory; here they make a text that does not compile.
std::string define_dynamic_shared(const Parsed& parsed, const clang::FunctionDecl* kernel,
                                  int bytes);

}  // namespace tilepost
