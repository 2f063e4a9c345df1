// How a kernel reads rows of a product in any layout: where an element lies, and vectors of
// neighbours.
//
// A layout gives the place of an element in two steps, so that a loop over rows computes what
// depends on the column only once:
//   const auto column = layout.column(c);
//   for (row …) use(product[layout.place(row, column)]);
// load_vector() does both steps. A vector of kWidth elements that starts at a multiple of kWidth
// never crosses a tile if n and tile_n are multiples of kWidth.
#ifndef TILEPOST_DEVICE_ROWS_CUH
#define TILEPOST_DEVICE_ROWS_CUH

#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

namespace tilepost::rows {

// A column of the product: its tile column, and its offset in that.
struct Column {
  int tile, offset;
};

// A row-major product with rows of `pitch` elements.
struct RowMajor {
  long long pitch;

  __device__ __forceinline__ Column column(int c) const { return {0, c}; }
  __device__ __forceinline__ long long place(long long row, Column c) const {
    return row * pitch + c.offset;
  }
};

// The tile layout of gemm and gemm_all_reduce: one column of tiles in slot order. `rows` is
// tilepost_op_info_t::rows, the destination row of each tile.
template <int kTileM, int kTileN>
struct Slots {
  const int32_t* rows;
  int tiles_n;  // tile columns, ceil(n / kTileN)

  __device__ __forceinline__ Column column(int c) const { return {c / kTileN, c % kTileN}; }
  __device__ __forceinline__ long long place(long long row, Column c) const {
    const int r = static_cast<int>(row);
    const int line = rows[r / kTileM * tiles_n + c.tile] + r % kTileM;
    return static_cast<long long>(line) * kTileN + c.offset;
  }
};

// The tile layout of gemm_reduce_scatter. Each tile column is a slab of `height` whole rows, where
// height is ceil(m / ranks) on every rank.
//
// The tile layout of gemm_all_to_all has one such block for each source rank s, of rows_from[s]
// rows, the blocks one after the other. `product` is then where the block of the source begins:
// behind the rows of the sources before it, times ceil(n / kTileN) * kTileN elements. Rows are
// counted within the block.
template <int kTileN>
struct Slabs {
  long long height;

  __device__ __forceinline__ Column column(int c) const { return {c / kTileN, c % kTileN}; }
  __device__ __forceinline__ long long place(long long row, Column c) const {
    return (c.tile * height + row) * kTileN + c.offset;
  }
};

// Any of these layouts, chosen at run time: Slots with a table, Slabs without one, and RowMajor as
// a single slab that is tile_n = n wide.
struct Any {
  const int32_t* rows;  // as in Slots; null: the layout is not Slots
  long long height;
  int tile_m, tile_n, tiles_n;

  __device__ __forceinline__ Column column(int c) const {
    const int tile = c / tile_n;
    return {tile, c - tile * tile_n};
  }
  __device__ __forceinline__ long long place(long long row, Column c) const {
    long long line = c.tile * height + row;
    if (rows != nullptr) {
      const int r = static_cast<int>(row), tile_row = r / tile_m;
      line = rows[tile_row * tiles_n + c.tile] + (r - tile_row * tile_m);
    }
    return line * tile_n + c.offset;
  }
};

// Neighbours of a row that one access moves: at most sixteen bytes.
template <class T, int kWidth>
struct alignas(sizeof(T) * kWidth) Vector {
  T values[kWidth];
};

// The word that moves `kBytes` at once.
template <int kBytes>
struct WordOf;
template <>
struct WordOf<16> {
  using Type = uint4;
};
template <>
struct WordOf<8> {
  using Type = uint2;
};
template <>
struct WordOf<4> {
  using Type = uint32_t;
};
template <>
struct WordOf<2> {
  using Type = uint16_t;
};

// Loads or stores a vector at an address that is a multiple of its size.
template <int kWidth, class T>
__device__ __forceinline__ Vector<T, kWidth> load(const T* source) {
  using Word = typename WordOf<sizeof(T) * kWidth>::Type;
  const Word word = *reinterpret_cast<const Word*>(source);
  Vector<T, kWidth> vector;
  memcpy(&vector, &word, sizeof word);
  return vector;
}
template <int kWidth, class T>
__device__ __forceinline__ void store(T* target, const Vector<T, kWidth>& vector) {
  using Word = typename WordOf<sizeof(T) * kWidth>::Type;
  Word word;
  memcpy(&word, &vector, sizeof word);
  *reinterpret_cast<Word*>(target) = word;
}

// Loads elements [column, column + kWidth) of a row; `column` is a multiple of kWidth.
template <int kWidth, class T, class Layout>
__device__ __forceinline__ Vector<T, kWidth> load_vector(const T* product, const Layout& layout,
                                                         long long row, int column) {
  return load<kWidth>(product + layout.place(row, layout.column(column)));
}

}  // namespace tilepost::rows

#endif  // TILEPOST_DEVICE_ROWS_CUH
