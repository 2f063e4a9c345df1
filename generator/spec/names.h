// How the spec spells each enumerator: one list per enum, read by the reader, the schema and
// name_of.
#pragma once

#include <span>
#include <string_view>

#include "generator/spec/spec.h"

namespace tilepost {

// Spelling::value of 'auto', which leaves the choice to the planner.
inline constexpr int kAuto = -1;

struct Spelling {
  std::string_view text;
  int value = 0;  // of the enumerator
};

// All spellings of E, 'auto' first where the planner may choose. Defined for the enums of spec.h.
template <class E>
std::span<const Spelling> spellings();

// The spec's spelling for a name in lower case that is common elsewhere: "bf16" for "bfloat16",
// "sm_90a" for "h100". "" for any other word. The result may be one that this version does not
// support: "sm_100" gives "sm_100".
std::string_view spelling_of(std::string_view name);

}  // namespace tilepost
