// Boxes that a host kernel stores, and the rows in ordinary memory into which they go: what a
// tensor map and a TMA store are on GPUs.
#ifndef TILEPOST_HOST_BOX_H
#define TILEPOST_HOST_BOX_H

#include <cstdint>
#include <cstring>

namespace tilepost {

// `rows` rows of `columns` elements, `ld` elements from one to the next.
struct HostRows {
  void* base;
  int rows, columns;
  int ld;
};

// Stores `rows` rows of `columns` elements, which lie one behind the other, with column x of row y
// of `to` as their first; nothing of what is outside `to`. Neither x nor y may be negative.
template <class T>
inline void store_box(const HostRows& to, const T* box, int rows, int columns, int x, int y) {
  const int width = columns < to.columns - x ? columns : to.columns - x;
  for (int row = 0; width > 0 && row < rows && y + row < to.rows; ++row)
    std::memcpy(static_cast<T*>(to.base) + int64_t{y + row} * to.ld + x,
                box + int64_t{row} * columns, static_cast<size_t>(width) * sizeof(T));
}

}  // namespace tilepost

#endif  // TILEPOST_HOST_BOX_H
