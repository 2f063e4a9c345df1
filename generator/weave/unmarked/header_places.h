// Headers that ask which block runs.
#pragma once

#include "clang/AST/Decl.h"
#include "generator/clang/parser.h"

namespace tilepost {

// Refuses a kernel that reaches a function of a header which reads CUDA's blockIdx or gridDim: it
// would see the block that runs, and not the one whose tile is made. In the kernel's own file
// readers are told, by parameters of these names; what reads the register itself, or has a variable
// of such a name, is refused there.
void check_header_places(const Parsed& parsed, const clang::FunctionDecl* kernel);

}  // namespace tilepost
