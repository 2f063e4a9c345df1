// How the spec spells each enumerator: one list per enum, read by the reader, the schema and
// name_of.
#pragma once

#include "generator/spec/spec.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// Spelling::value of 'auto': the planner's to choose.
inline constexpr int kAuto = -1;

struct Spelling {
  llvm::StringRef text;
  int value;  // of the enumerator
};

// All spellings of E, 'auto' first where the planner may choose. Defined for the enums of spec.h.
template <class E>
llvm::ArrayRef<Spelling> spellings();

}  // namespace tilepost
