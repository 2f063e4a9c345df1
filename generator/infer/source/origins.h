// Finds out whose code a function is: the user's, or that of CUDA, the standard library or Clang
// itself. Also finds out what functions do whose bodies the interpreter does not run.
#pragma once

#include <string>
#include <vector>

#include "clang/AST/DeclTemplate.h"
#include "generator/clang/parser.h"
#include "generator/infer/source/hidden_stores.h"
#include "generator/infer/source/names.h"

namespace tilepost::inference {

class Origins {
 public:
  // `libraries`: folders of headers that are neither CUDA's nor C++'s. Their functions count as the
  // user's. `parsed` and `libraries` outlive this object.
  Origins(const Parsed& parsed, const std::vector<std::string>& libraries)
      : parsed_(parsed), libraries_(libraries) {}

  // Whether the function is CUDA's, the standard library's or Clang's own.
  bool is_foreign(const clang::FunctionDecl* function) const;
  // Whether a function that is not the user's may call the user's code. Such a function is made by
  // the compiler for a class, or has a type of the user's as a template argument or parameter.
  bool acts_for_user(const clang::FunctionDecl* function) const;
  // A function of the user's that the header's function `function` calls, and that does more than
  // compute with its arguments. Null if there is none.
  const clang::FunctionDecl* called_back(const clang::FunctionDecl* function);
  // Whether the function, or one that it calls, stores in bulk to global memory.
  bool store_in_bulk(const clang::FunctionDecl* function) {
    return hidden_stores_.are_in(function);
  }

 private:
  bool is_foreign(Where declared) const;
  bool has_user_type(Type type, int depth = 0) const;
  bool has_user_type(llvm::ArrayRef<clang::TemplateArgument> arguments, int depth = 0) const;

  const Parsed& parsed_;
  const std::vector<std::string>& libraries_;
  HiddenStores hidden_stores_;
};

}  // namespace tilepost::inference
