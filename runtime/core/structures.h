// Structures that callers fill in and that grow from version to version. They begin with
// struct_size, which says what the caller's version of the structure has.
#pragma once

#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace tilepost {

// Whether the structure has a size that it once had. Members are only ever added at the end.
constexpr bool is_known_size(size_t size, std::initializer_list<size_t> sizes) {
  for (const size_t known : sizes)
    if (size == known) return true;
  return false;
}

// The caller's structure of `size` bytes, with the members of `defaults` behind them. struct_size
// is that of the present structure.
template <class Structure>
Structure completed(const Structure* given, size_t size, Structure defaults) {
  std::memcpy(&defaults, given, size);
  defaults.struct_size = sizeof defaults;
  return defaults;
}

}  // namespace tilepost
