// Values that depend on a kernel's text: its line numbers and its functions' names.
#pragma once

#include "clang/AST/Decl.h"
#include "generator/clang/parser.h"

namespace tilepost {

// Refuses a kernel that uses __builtin_LINE() and the like, or __PRETTY_FUNCTION__. Generated code
// has other line numbers, and its functions are in a namespace and have more parameters.
void check_source_values(const Parsed& parsed, const clang::FunctionDecl* kernel);

}  // namespace tilepost
