// Structures that callers fill in and that grow from version to version. They begin with
// struct_size, by which the runtime finds out which members the caller's version has.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "runtime/core/error.h"

namespace tilepost {

// Whether a structure had this size in some version. Members are only ever added at the end.
constexpr bool is_known_size(size_t size, std::initializer_list<size_t> sizes) {
  for (const size_t known : sizes)
    if (size == known) return true;
  return false;
}

// Refuses struct_size of the argument `name`, whose type is `type`.
inline tilepost_result_t wrong_size(const char* call, const char* name, size_t size,
                                    size_t expected, const char* type) {
  return fail(TILEPOST_INVALID_ARGUMENT,
              "%s: %s.struct_size is %zu, expected %zu; set it to sizeof(%s)", call, name, size,
              expected, type);
}

// Checks struct_size of a structure that has had one size so far.
template <class Structure>
tilepost_result_t check_size(const char* call, const char* name, const Structure& given,
                             const char* type) {
  if (given.struct_size == sizeof given) return TILEPOST_OK;
  return wrong_size(call, name, given.struct_size, sizeof given, type);
}

// The caller's structure of `size` bytes, with the members that it lacks taken from `defaults`.
// struct_size is that of the present structure.
template <class Structure>
Structure completed(const Structure* given, size_t size, Structure defaults) {
  std::memcpy(&defaults, given, size);
  defaults.struct_size = sizeof defaults;
  return defaults;
}

}  // namespace tilepost
