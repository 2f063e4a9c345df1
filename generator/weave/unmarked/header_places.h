// Finds headers that ask which block runs.
#pragma once

#include "clang/AST/Decl.h"
#include "generator/clang/parser.h"

namespace tilepost {

// Refuses a kernel that reaches a function of a header which reads CUDA's blockIdx or gridDim: the
// function would see the block that runs, not the block whose tile is made. Functions in the
// kernel's own file get the right block as parameters of these names. In that file, code that reads
// the register itself, or has a variable with such a name, is refused.
void check_header_places(const Parsed& parsed, const clang::FunctionDecl* kernel);

}  // namespace tilepost
