// Finds bulk stores, atomic instructions and uses of tensor maps in functions, without running the
// functions.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "clang/AST/Decl.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost::inference {

// Finds out whether functions, or functions that they call, store in bulk to global memory. The
// address of such a store may be in a tensor map, so that the source does not show it. Each
// function is searched once.
class HiddenStores {
 public:
  bool are_in(const clang::FunctionDecl* function);
  // A function of the user's that the header's function `function` calls, and that does more than
  // compute with its arguments. It may be a functor that was passed to `function`. Null if there is
  // none.
  const clang::FunctionDecl* called_back_by(
      const clang::FunctionDecl* function,
      llvm::function_ref<bool(const clang::FunctionDecl*)> is_foreign);

 private:
  std::map<const clang::FunctionDecl*, bool> known_;
  std::map<const clang::FunctionDecl*, const clang::FunctionDecl*> called_back_;
};

// A place where a kernel, or a function that it calls, waits for other blocks or adds to their
// results: an atomic instruction on global memory, or a call of a function whose name begins with
// "atomic".
struct SharedWork {
  clang::SourceLocation where;
  std::string what;  // "atomicAdd"
};
std::optional<SharedWork> find_shared_work(const clang::FunctionDecl* kernel);

// A place where a kernel, or a function that it calls, uses tensor maps in a way that a proof
// cannot follow.
struct ByMap {
  clang::SourceLocation where;
  std::string what;      // the instruction
  bool changes = false;  // whether the instruction writes a map; otherwise it stores in bulk
};
std::optional<ByMap> find_by_map(const clang::FunctionDecl* kernel);

}  // namespace tilepost::inference
