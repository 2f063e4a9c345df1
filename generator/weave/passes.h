// The weaver's passes, in the order they run. Each looks at a finished parse; those that change
// something return edits of the text that was parsed. marks/ reads and rewrites marks, prune/ drops
// branches that a plan does not take, pieces/ keeps what the kernel needs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/clang/parser.h"
#include "generator/weave/pieces/pieces.h"
#include "generator/weave/weave.h"

namespace tilepost {

// Every declaration of a function of that name in the main file, outside namespaces and classes;
// for a template its pattern.
std::vector<const clang::FunctionDecl*> find_kernels(const Parsed& parsed, llvm::StringRef name);

// Refuses a kernel that is missing, overloaded, of the wrong kind or in the wrong place.
void check_source(const Parsed& parsed, const WeaveRequest& request);

// Refuses parameters that leave no place for the view behind them.
void check_parameters(const Parsed& parsed, const clang::FunctionDecl* kernel);

// Folds every tunable to the plan's literal or to its fallback.
Edits specialise(const Parsed& parsed, const WeaveRequest& request);

// Replaces an `if` whose condition is a constant by the branch taken, folds what fold_choices folds
// and drops what drop_unused_locals drops.
Edits prune(const Parsed& parsed);

// Replaces a `?:` whose condition is a constant by the operand taken, and an `&&` or `||` that one
// constant operand leaves to the other by that. What a macro writes stays as it is.
void fold_choices(const Parsed& parsed, Edits& edits);

// Drops local variables whose last use goes with `edits`, if no more goes with them than their
// value.
void drop_unused_locals(const Parsed& parsed, Edits& edits);

// Sets `keep` on the pieces that the kernel and request.keep reach.
void mark_reachable(const Parsed& parsed, const WeaveRequest& request, Pieces& pieces);

// The same for a function of the main file.
void mark_reachable(const Parsed& parsed, const std::vector<const clang::FunctionDecl*>& functions,
                    Pieces& pieces);

// Refuses in what is kept: names that the woven text needs for itself, marks that the preprocessor
// hides from the parse, inclusions that cannot be hoisted.
void check_kept(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces);

// Rewrites the marks in what is kept and hands the view of `kernel` down to them.
void thread_view(const Parsed& parsed, const WeaveRequest& request,
                 const clang::FunctionDecl* kernel, const Pieces& pieces, Edits& edits);

// Puts the kernel's body between #if guard and #endif, and gives C functions C++ names: several
// generated kernels must link into one program.
void wrap_kernel(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces,
                 Edits& edits);

// [[maybe_unused]] for variables whose last read pruning took away, or the guard may.
void quiet_unused(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces,
                  Edits& edits);

// The kept pieces with their edits, tidily spaced, and the includes.
WovenKernel assemble(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces,
                     const Edits& edits);

}  // namespace tilepost
