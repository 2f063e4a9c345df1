// Numbers in a plain char. The host decides whether this type is signed: it is on x86, but not on
// ARM. So a number outside of 0 to 127 becomes another number if the code is compiled for another
// host.
#pragma once

#include <unordered_map>

#include "clang/AST/Expr.h"
#include "generator/infer/source/names.h"
#include "generator/infer/values/memory.h"
#include "generator/infer/values/nodes.h"

namespace tilepost::inference {

class PlainChars {
 public:
  PlainChars(const clang::ASTContext& ast, Nodes& nodes) : ast_(ast), nodes_(nodes) {}

  // Whether a number that differs by host is in `e`, which Clang computes as a constant, or in
  // anything that `e` names.
  bool decide(const clang::Expr* e);
  // Whether `value`, the value of an expression of this type, is not the same on all hosts.
  bool differs_by_host(Value value, Type type);

 private:
  const clang::ASTContext& ast_;
  Nodes& nodes_;
  std::unordered_map<const clang::Expr*, bool> decided_;  // the known results of decide()
};

}  // namespace tilepost::inference
