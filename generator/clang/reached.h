// What a function reaches, in whatever file it is: the ground for telling errors that matter from
// those that do not.
#pragma once

#include <map>
#include <vector>

#include "clang/AST/Decl.h"
#include "clang/Basic/SourceManager.h"
#include "llvm/ADT/SetVector.h"

namespace tilepost {

class Reached {
 public:
  // All declarations that the code of `root` names, and what their code names; and those that
  // `asking` names, a declaration that asks for `root` by types, or null.
  Reached(const clang::FunctionDecl* root, const clang::SourceManager& sm,
          const clang::Decl* asking = nullptr);

  const llvm::SetVector<const clang::Decl*>& declarations() const { return declarations_; }
  // Whether `where`, or the macro's text or use that it comes from, is part of one of them.
  bool covers(clang::SourceLocation where) const;

 private:
  void add_range(clang::SourceRange range);
  bool holds(clang::SourceLocation where) const;

  const clang::SourceManager& sm_;
  llvm::SetVector<const clang::Decl*> declarations_;
  std::map<clang::FileID, std::vector<std::pair<unsigned, unsigned>>> ranges_;
};

}  // namespace tilepost
