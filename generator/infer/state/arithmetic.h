// Arithmetic on numbers and pointers, in the C types of the source.
#pragma once

#include <string>

#include "clang/AST/Expr.h"
#include "generator/infer/source/names.h"
#include "generator/infer/state/storage.h"

namespace tilepost::inference {

class Arithmetic {
 public:
  Arithmetic(State& state, Storage& storage)
      : nodes_(state.nodes),
        memory_(state.memory),
        types_(state.types),
        course_(state.course),
        storage_(storage) {}

  Value arithmetic(clang::BinaryOperatorKind kind, Value a, Value b, Type type, Type left,
                   Type right, Where where);
  Value pointer_arithmetic(clang::BinaryOperatorKind kind, Value a, Value b, Type left, Type right,
                           Where where);
  Value compare(clang::BinaryOperatorKind kind, Value a, Value b, Type operands, Where where);
  // A name for the value if it is a number that is the same in the whole launch; else empty.
  std::string key_of(Value value) const;
  // Refuses arithmetic on an address as a number, because the result may become an address of other
  // memory.
  void refuse_number(Where where);

 private:
  Nodes& nodes_;
  const Memory& memory_;
  const Types& types_;
  Course& course_;
  Storage& storage_;
};

}  // namespace tilepost::inference
