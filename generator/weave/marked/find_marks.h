// Which marks a kernel of the user's own reaches, and which function launches it.
#pragma once

#include <set>
#include <string>

#include "generator/clang/instantiate.h"
#include "generator/weave/marks/calls.h"
#include "generator/weave/pieces/pieces.h"

namespace tilepost {

// The marks that the kernel reaches; none for a kernel without marks.
std::set<Mark> find_marks(const Parsed& parsed, const Instance& instance);

// The function of that name, namespaces written out, that can launch a kernel: it takes a const
// tilepost_launch_call_t* and a void*, and returns a cudaError_t or an int. Null if there is none,
// after that was reported.
const clang::FunctionDecl* find_launcher(const Parsed& parsed, llvm::StringRef name);

// Sets `keep` on the pieces that the kernel and its launcher, if it has one, reach. Returns false
// if the launcher was refused.
bool mark_launched(const Parsed& parsed, const Instance& instance, llvm::StringRef launcher,
                   Pieces& pieces);

}  // namespace tilepost
