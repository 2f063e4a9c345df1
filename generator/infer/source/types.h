// Sizes of the source's C++ types, and the integer types in which nodes compute their numbers.
#pragma once

#include <cstdint>

#include "clang/AST/ASTContext.h"
#include "generator/infer/source/names.h"
#include "generator/infer/values/memory.h"
#include "generator/infer/values/nodes.h"

namespace tilepost::inference {

class Types {
 public:
  explicit Types(const clang::ASTContext& ast) : ast_(ast) {}

  // The size in bytes. A reference has the size of the type that it refers to.
  int64_t size_of(Type type) const;
  // The integer type in which nodes compute numbers of the C++ type `type`.
  IntType int_type(Type type) const;
  // Whether `type` can represent each number of the type `of`.
  bool holds_all(Type type, Type of) const;
  // Whether the floating-point type `real` can represent the number, which has the type `of`.
  bool is_exact(const Nodes& nodes, Value value, Type of, Type real) const;

 private:
  const clang::ASTContext& ast_;
};

}  // namespace tilepost::inference
