// The weaver's passes, in the order they run. Each pass reads a finished parse. A pass that changes
// something makes edits of the text that was parsed. marks/ reads and rewrites marks, prune/ drops
// branches that a plan does not take, pieces/ keeps what the kernel needs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "generator/clang/parser.h"
#include "generator/weave/pieces/pieces.h"
#include "generator/weave/weave.h"

namespace tilepost {

// The name that woven kernels of users give the type of the view (tilepost::woven::View).
inline constexpr char kViewType[] = "TilepostView";

// Every declaration of a function of that name in the main file, outside of namespaces and classes.
// A template is represented by its pattern.
std::vector<const clang::FunctionDecl*> find_kernels(const Parsed& parsed, llvm::StringRef name);

// Refuses a kernel that is missing, overloaded, of the wrong kind or in the wrong place.
void check_source(const Parsed& parsed, const WeaveRequest& request);

// Refuses a kernel to whose parameters the view cannot be added at the end.
void check_parameters(const Parsed& parsed, const clang::FunctionDecl* kernel);

// Replaces every tunable by the plan's literal or by its fallback.
Edits specialise(const Parsed& parsed, const WeaveRequest& request);

// Replaces an `if` whose condition is a constant by the branch taken, folds what fold_choices folds
// and drops what drop_unused_locals drops.
Edits prune(const Parsed& parsed);

// Replaces a `?:` whose condition is a constant by the operand that is taken. Replaces an `&&` or
// `||` with one constant operand by the other operand, if that decides the result. Code that comes
// from a macro stays as it is.
void fold_choices(const Parsed& parsed, Edits& edits);

// Drops local variables whose last use `edits` removes, if this has no effect but to lose their
// values.
void drop_unused_locals(const Parsed& parsed, Edits& edits);

// Sets `keep` on the pieces that the kernel and request.keep reach.
void mark_reachable(const Parsed& parsed, const WeaveRequest& request, Pieces& pieces);

// Sets `keep` on the pieces that these functions of the main file reach.
void mark_reachable(const Parsed& parsed, const std::vector<const clang::FunctionDecl*>& functions,
                    Pieces& pieces);

// Refuses kept pieces that declare names which the woven text needs for itself, that have marks
// which the preprocessor hides from the parse, or inclusions that cannot be moved to the top.
void check_kept(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces);

// Rewrites the marks in the kept pieces and hands the view of `kernel` down to them.
void thread_view(const Parsed& parsed, const WeaveRequest& request,
                 const clang::FunctionDecl* kernel, const Pieces& pieces, Edits& edits);

// Puts the kernel's body between #if guard and #endif. Makes extern "C" functions extern "C++",
// because several generated kernels must link into one program.
void wrap_kernel(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces,
                 Edits& edits);

// Adds [[maybe_unused]] to variables whose last read was pruned, or is in a body that the guard may
// leave out.
void quiet_unused(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces,
                  Edits& edits);

// Puts the kept pieces together, with their edits and the includes, and spaces them tidily.
WovenKernel assemble(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces,
                     const Edits& edits);

}  // namespace tilepost
