// The kernel among the functions of a source.
#pragma once

#include <vector>

#include "clang/AST/Decl.h"
#include "generator/weave/parser.h"

namespace tilepost {

// Every declaration of a function of that name in the main file, outside namespaces and classes;
// for a template its pattern.
std::vector<const clang::FunctionDecl*> find_kernels(const Parsed& parsed, llvm::StringRef name);

}  // namespace tilepost
