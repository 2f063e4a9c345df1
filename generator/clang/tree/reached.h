// Finds the code that a function reaches, in any file. Clang's errors matter only in this code.
#pragma once

#include <map>
#include <vector>

#include "clang/AST/Decl.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SetVector.h"

namespace tilepost {

class Reached {
 public:
  // Collects all declarations that the code of `root` names, and in turn those that their code
  // names. `asking`, which may be null, is the declaration that asks for `root`. The types that
  // `asking` names are reached too.
  Reached(const clang::FunctionDecl* root, const clang::SourceManager& sm,
          const clang::Decl* asking = nullptr);

  const llvm::SetVector<const clang::Decl*>& declarations() const { return declarations_; }
  // Whether `where` is in one of the declarations. A place in a macro is also in a declaration if
  // the macro's text or the macro's use is.
  bool covers(clang::SourceLocation where) const;

 private:
  void add_range(clang::SourceRange range);
  bool holds(clang::SourceLocation where) const;

  const clang::SourceManager& sm_;
  llvm::SetVector<const clang::Decl*> declarations_;
  std::map<clang::FileID, std::vector<std::pair<unsigned, unsigned>>> ranges_;
};

}  // namespace tilepost
