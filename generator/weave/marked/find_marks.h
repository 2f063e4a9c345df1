// Finds the marks that a kernel of the user's own reaches, and the function that launches it.
#pragma once

#include <set>
#include <string>

#include "generator/clang/instantiate.h"
#include "generator/weave/marks/calls.h"
#include "generator/weave/pieces/pieces.h"

namespace tilepost {

// The marks that the kernel reaches; none for a kernel without marks.
std::set<Mark> find_marks(const Parsed& parsed, const Instance& instance);

// The function `name`, which is written with its namespaces, if it can launch a kernel: it takes a
// const tilepost_launch_call_t* and a void*, and returns a cudaError_t or an int. Otherwise reports
// an error and returns null.
const clang::FunctionDecl* find_launcher(const Parsed& parsed, llvm::StringRef name);

// Sets `keep` on the pieces that the kernel and its launcher, if it has one, reach. Returns false
// if the launcher was refused.
bool mark_launched(const Parsed& parsed, const Instance& instance, llvm::StringRef launcher,
                   Pieces& pieces);

}  // namespace tilepost
