// Reads enumerated fields of plans that have not been checked.
#pragma once

#include <cstring>

namespace tilepost {

// Returns the integer that is stored in a field of an enumerated type. Loading a value that is
// outside the range of the type's enumerators is undefined ([conv.lval], [dcl.enum]/8), and a plan
// that has not been checked may hold any value.
template <class Enum>
int stored_value(const Enum& field) {
  static_assert(sizeof field == sizeof(int));
  int value;
  std::memcpy(&value, &field, sizeof value);
  return value;
}

}  // namespace tilepost
