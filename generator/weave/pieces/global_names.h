// Names of the global scope of the kernel's file. In generated code these names are in a namespace.
#pragma once

#include <string>

#include "clang/AST/Decl.h"
#include "generator/clang/parser.h"
#include "generator/weave/pieces/pieces.h"

namespace tilepost {

// Lines such as `using ::max;`, one for each name of which the kernel reaches a function in its own
// file and one in a header. Without such a line the file's function, which is in a namespace, would
// hide the header's.
std::string using_of_global(const Parsed& parsed, const clang::FunctionDecl* kernel);

// Refuses `::name` for a name that the kernel's file declares. In generated code `::name` does not
// exist or means something else.
void check_global_names(const Parsed& parsed, const Pieces& pieces);

}  // namespace tilepost
