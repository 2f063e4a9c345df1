// Checks the variables in global and constant memory that a kernel reaches.
#pragma once

#include "clang/AST/Decl.h"
#include "generator/clang/parser.h"

namespace tilepost {

// Refuses a kernel that reaches a variable of its file in global or constant memory without an
// initialiser. Generated code contains the variable, but nothing that sets it.
void check_device_variables(const Parsed& parsed, const clang::FunctionDecl* kernel);

}  // namespace tilepost
