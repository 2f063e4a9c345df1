// Stores of header functions that none of their arguments shows.
#pragma once

#include <map>

#include "clang/AST/Decl.h"

namespace tilepost::inference {

// Whether functions, or what they call, store in bulk to global memory: where that goes may be in a
// tensor map, which they only read. Each is looked through once.
class HiddenStores {
 public:
  bool are_in(const clang::FunctionDecl* function);

 private:
  std::map<const clang::FunctionDecl*, bool> known_;
};

}  // namespace tilepost::inference
