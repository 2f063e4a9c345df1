// What functions do that need not be run to be seen.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "clang/AST/Decl.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost::inference {

// Whether functions, or what they call, store in bulk to global memory: where that goes may be in a
// tensor map, which they only read. Each is looked through once.
class HiddenStores {
 public:
  bool are_in(const clang::FunctionDecl* function);
  // What a function of a header calls that is not of a header and does more than to compute with
  // what it is given: a functor that it was handed, say. Null: nothing.
  const clang::FunctionDecl* called_back_by(
      const clang::FunctionDecl* function,
      llvm::function_ref<bool(const clang::FunctionDecl*)> is_foreign);

 private:
  std::map<const clang::FunctionDecl*, bool> known_;
  std::map<const clang::FunctionDecl*, const clang::FunctionDecl*> called_back_;
};

// Where a kernel, or a function that it calls, waits for other blocks or adds to what they make: by
// atomic operations on memory of the grid.
struct SharedWork {
  clang::SourceLocation where;
  std::string what;  // "atomicAdd"
};
std::optional<SharedWork> find_shared_work(const clang::FunctionDecl* kernel);

// What a kernel, or a function that it calls, does with tensor maps that a proof cannot follow.
struct ByMap {
  clang::SourceLocation where;
  std::string what;      // the instruction
  bool changes = false;  // it writes maps; else it stores in bulk
};
std::optional<ByMap> find_by_map(const clang::FunctionDecl* kernel);

}  // namespace tilepost::inference
