// What a kernel's text says of itself: its lines and its functions' names.
#pragma once

#include "clang/AST/Decl.h"
#include "generator/clang/parser.h"

namespace tilepost {

// Refuses a kernel that has the value of __builtin_LINE() or its like, or of __PRETTY_FUNCTION__:
// in generated code lines are others, and functions are in a namespace and have more parameters.
void check_source_values(const Parsed& parsed, const clang::FunctionDecl* kernel);

}  // namespace tilepost
