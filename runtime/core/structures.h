// Structures that callers fill in and that grow from version to version. They begin with
// struct_size, by which the runtime finds out which members the caller's version has.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace tilepost {

// Whether a structure had this size in some version. Members are only ever added at the end.
constexpr bool is_known_size(size_t size, std::initializer_list<size_t> sizes) {
  for (const size_t known : sizes)
    if (size == known) return true;
  return false;
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
