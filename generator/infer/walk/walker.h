// The interface by which statements, expressions and calls run each other. It is needed because
// each of them may contain the others.
#pragma once

#include "clang/AST/Expr.h"
#include "clang/AST/Stmt.h"
#include "generator/infer/values/memory.h"

namespace tilepost::inference {

class Walker {
 public:
  Walker() = default;
  Walker(const Walker&) = delete;
  Walker& operator=(const Walker&) = delete;

  virtual void exec(const clang::Stmt* s) = 0;
  virtual Value eval(const clang::Expr* e) = 0;
  // The place that an expression names.
  virtual Value address(const clang::Expr* e) = 0;
  // Runs an expression for its effects. Its value is not read.
  virtual void discard(const clang::Expr* e) = 0;
  // Whether the expression is true, simplified by the facts.
  virtual NodeId condition(const clang::Expr* e) = 0;

 protected:
  ~Walker() = default;
};

}  // namespace tilepost::inference
