// Names of the global scope, which are a namespace's in generated code.
#pragma once

#include <string>

#include "clang/AST/Decl.h"
#include "generator/clang/parser.h"
#include "generator/weave/pieces/pieces.h"

namespace tilepost {

// `using ::max;` for each name by which the kernel reaches functions of its file and of a header:
// those of the file would hide the others.
std::string using_of_global(const Parsed& parsed, const clang::FunctionDecl* kernel);

// Refuses `::name` of what the kernel's file declares, which is not there in generated code, or is
// something else.
void check_global_names(const Parsed& parsed, const Pieces& pieces);

}  // namespace tilepost
