// Names of the global scope of the kernel's file. In generated code they are in a namespace.
#pragma once

#include <string>

#include "clang/AST/Decl.h"
#include "generator/clang/parser.h"
#include "generator/weave/pieces/pieces.h"

namespace tilepost {

// `using ::max;` for each name of which the kernel reaches functions both of its own file and of a
// header. Otherwise those of the file, which are in a namespace, would hide those of the header.
std::string using_of_global(const Parsed& parsed, const clang::FunctionDecl* kernel);

// Refuses `::name` for what the kernel's file declares: in generated code there is no such name, or
// it means something else.
void check_global_names(const Parsed& parsed, const Pieces& pieces);

}  // namespace tilepost
