// What kernels use of CUDA's header of this name, on the CPU: see cpu_shim.h.
//
// A warp multiplies matrices of which each lane has a part (CUDA C++ Programming Guide, Warp Matrix
// Functions). Which elements a lane has is not said there. Here it has consecutive elements of a
// row-major matrix.
#pragma once

#include "runtime/verify/host/shim/cpu_shim.h"

namespace nvcuda::wmma {

struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
enum layout_t { mem_row_major, mem_col_major };

namespace precision {
struct tf32 {};
}  // namespace precision

// What holds an element of type T.
template <class T>
struct Storage {
  using type = T;
};
template <>
struct Storage<precision::tf32> {
  using type = float;
};

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  static constexpr bool kIsA = std::is_same_v<Use, matrix_a>, kIsB = std::is_same_v<Use, matrix_b>;
  static constexpr int kRows = kIsB ? k : m, kColumns = kIsA ? k : n;
  static constexpr int num_elements = kRows * kColumns / static_cast<int>(tilepost::cpu::kWarpSize);
  static constexpr int num_storage_elements = num_elements;
  using element_type = T;
  using storage_element_type = typename Storage<T>::type;
  storage_element_type x[num_elements];

  // The place of the lane's element in a matrix of that leading dimension.
  static ptrdiff_t place(int element, unsigned ld, bool by_rows) {
    const int at = static_cast<int>(tilepost::cpu::lane()) * num_elements + element;
    const ptrdiff_t row = at / kColumns, column = at % kColumns;
    return by_rows ? row * ld + column : column * ld + row;
  }
};

template <class Fragment, class T>
void fill_fragment(Fragment& to, const T& value) {
  for (auto& x : to.x) x = value;
}

template <class Use, int m, int n, int k, class T, class Layout, class From>
void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& to, const From* from, unsigned ld) {
  __syncwarp();
  for (int i = 0; i < to.num_elements; ++i)
    to.x[i] = from[to.place(i, ld, std::is_same_v<Layout, row_major>)];
  __syncwarp();
}
template <int m, int n, int k, class T, class From>
void load_matrix_sync(fragment<accumulator, m, n, k, T>& to, const From* from, unsigned ld,
                      layout_t layout) {
  __syncwarp();
  for (int i = 0; i < to.num_elements; ++i)
    to.x[i] = from[to.place(i, ld, layout == mem_row_major)];
  __syncwarp();
}
template <int m, int n, int k, class T, class To>
void store_matrix_sync(To* to, const fragment<accumulator, m, n, k, T>& from, unsigned ld,
                       layout_t layout) {
  __syncwarp();
  for (int i = 0; i < from.num_elements; ++i)
    to[from.place(i, ld, layout == mem_row_major)] = from.x[i];
  __syncwarp();
}

// The whole matrix, in rows: every lane learns the others' parts.
template <class Fragment>
std::vector<typename Fragment::storage_element_type> whole(const Fragment& part) {
  constexpr unsigned kLanes = tilepost::cpu::kWarpSize;
  constexpr int kCount = Fragment::num_elements;
  std::vector<typename Fragment::storage_element_type> matrix(kLanes * kCount);
  auto& values = tilepost::cpu::current_block
                     ->values[tilepost::cpu::thread_in_block() / tilepost::cpu::kWarpSize];
  constexpr int kAtOnce = std::min<int>(kCount, sizeof(values[0].bytes) / sizeof(part.x[0]));
  for (int first = 0; first < kCount; first += kAtOnce) {
    std::memcpy(values[tilepost::cpu::lane()].bytes, part.x + first, kAtOnce * sizeof(part.x[0]));
    __syncwarp();
    for (unsigned lane = 0; lane < kLanes; ++lane)
      std::memcpy(static_cast<void*>(&matrix[lane * kCount + static_cast<unsigned>(first)]),
                  values[lane].bytes, kAtOnce * sizeof(part.x[0]));
    __syncwarp();
  }
  return matrix;
}

// Products of floats are summed as floats, and those of whole numbers as whole numbers.
template <int m, int n, int k, class A, class LayoutA, class B, class LayoutB, class C, class D>
void mma_sync(fragment<accumulator, m, n, k, D>& to,
              const fragment<matrix_a, m, n, k, A, LayoutA>& a,
              const fragment<matrix_b, m, n, k, B, LayoutB>& b,
              const fragment<accumulator, m, n, k, C>& c) {
  using Sum = std::conditional_t<std::is_integral_v<D>, D, float>;
  const auto rows = whole(a);
  const auto columns = whole(b);
  for (int i = 0; i < to.num_elements; ++i) {
    const int at = static_cast<int>(to.place(i, n, true));
    Sum sum = c.x[i];
    for (int j = 0; j < k; ++j)
      sum += static_cast<Sum>(rows[static_cast<size_t>(at / n * k + j)]) *
             static_cast<Sum>(columns[static_cast<size_t>(j * n + at % n)]);
    to.x[i] = sum;
  }
}

inline float __float_to_tf32(float x) {
  uint32_t bits = __builtin_bit_cast(uint32_t, x);
  bits = (bits + 0x1000u) & ~0x1fffu;  // to nearest, ties away from zero
  return __builtin_bit_cast(float, bits);
}

}  // namespace nvcuda::wmma

using nvcuda::wmma::__float_to_tf32;
