// How the spec spells each enumerator: one list per enum, read by the reader, the schema and
// name_of.
#pragma once

#include <span>
#include <string_view>

#include "generator/spec/spec.h"

namespace tilepost {

// Spelling::value of 'auto': the planner's to choose.
inline constexpr int kAuto = -1;

struct Spelling {
  std::string_view text;
  int value = 0;  // of the enumerator
};

// All spellings of E, 'auto' first where the planner may choose. Defined for the enums of spec.h.
template <class E>
std::span<const Spelling> spellings();

}  // namespace tilepost
