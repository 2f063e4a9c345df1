// Boxes that a host kernel stores, and the rows in ordinary memory into which they go. They
// correspond to the TMA stores and the tensor maps of GPUs.
#ifndef TILEPOST_HOST_BOX_H
#define TILEPOST_HOST_BOX_H

#include <cstdint>
#include <cstring>

namespace tilepost {

// `rows` rows of `columns` elements. A row begins `ld` elements behind the one before.
struct HostRows {
  void* base;
  int rows, columns;
  int ld;
};

// Stores a box of `rows` rows of `columns` elements, which lie one behind the other. The first
// element goes to column x of row y of `to`. What would lie outside `to` is not stored. Neither x
// nor y may be negative.
template <class T>
inline void store_box(const HostRows& to, const T* box, int rows, int columns, int x, int y) {
  const int width = columns < to.columns - x ? columns : to.columns - x;
  for (int row = 0; width > 0 && row < rows && y + row < to.rows; ++row)
    std::memcpy(static_cast<T*>(to.base) + int64_t{y + row} * to.ld + x,
                box + int64_t{row} * columns, static_cast<size_t>(width) * sizeof(T));
}

}  // namespace tilepost

#endif  // TILEPOST_HOST_BOX_H
