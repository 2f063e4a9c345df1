// The CTAs of a cluster that load operands for each other.
#ifndef TILEPOST_DEVICE_MATES_CUH
#define TILEPOST_DEVICE_MATES_CUH

#include <cstdint>

#include "tilepost/device/ptx_sm90.cuh"

namespace tilepost {

// A cluster's CTAs as a table of kRows rows and kColumns columns, filled row by row in the order of
// their ranks. CTAs of one row multiply the same rows of A, and CTAs of one column the same columns
// of B. Each CTA of a row, or of a column, loads a share for all CTAs of it, to the same addresses
// of their shared memory. Each of these CTAs counts the bytes on its own barrier.
template <int kRows, int kColumns>
struct Mates {
  static constexpr int kAll = kRows * kColumns;
  static constexpr int kSenders = kRows + kColumns - 1;  // CTAs that load for this one, with itself
  int rank = 0;

  static __device__ __forceinline__ Mates of_this_cta() {
    return {kAll > 1 ? static_cast<int>(ptx::cluster_rank()) : 0};
  }
  // All threads of all CTAs of the cluster meet.
  static __device__ __forceinline__ void meet() {
    if constexpr (kAll > 1)
      ptx::cluster_sync();
    else
      __syncthreads();
  }
  __device__ __forceinline__ int row() const { return kRows > 1 ? rank / kColumns : 0; }
  __device__ __forceinline__ int column() const { return kColumns > 1 ? rank % kColumns : 0; }

  // The rank of the i-th sender. The CTAs of this row come first, then the others of this column.
  __device__ __forceinline__ int sender(int i) const {
    if constexpr (kRows == 1 || kColumns == 1) return i;
    if (i < kColumns) return row() * kColumns + i;
    const int other = i - kColumns;
    return (other + (other >= row() ? 1 : 0)) * kColumns + column();
  }

  __device__ __forceinline__ void load_for_row(uint32_t destination, const CUtensorMap* map,
                                               uint32_t barrier, int x, int y) const {
    constexpr int kRow = (1 << kColumns) - 1;
    load<kColumns>(kRow << (row() * kColumns), destination, map, barrier, x, y);
  }
  __device__ __forceinline__ void load_for_column(uint32_t destination, const CUtensorMap* map,
                                                  uint32_t barrier, int x, int y) const {
    constexpr int kColumn = ((1 << kAll) - 1) / ((1 << kColumns) - 1);  // the first bit of each row
    load<kRows>(kColumn << column(), destination, map, barrier, x, y);
  }

  // Loads this CTA's share of a block of B for all CTAs of its column. The block begins at column
  // `n` and element `k` of K, and has rows of 128 bytes in shared memory. Here a row has one
  // column's elements of K, and the share is some of the block's kColumnsOfB columns.
  template <int kColumnsOfB>
  __device__ __forceinline__ void load_columns(uint32_t destination, const CUtensorMap* map,
                                               uint32_t barrier, int k, int n) const {
    const int first = row() * (kColumnsOfB / kRows);
    load_for_column(destination + first * kRowBytes, map, barrier, k, n + first);
  }
  // As load_columns(), where a row has kSlab columns of one element of K. The share is some of the
  // block's kDepth elements of K.
  template <int kColumnsOfB, int kSlab, int kDepth>
  __device__ __forceinline__ void load_depth(uint32_t destination, const CUtensorMap* map,
                                             uint32_t barrier, int k, int n) const {
    const int first = row() * (kDepth / kRows);
#pragma unroll 1  // saves registers
    for (int slab = 0; slab < kColumnsOfB / kSlab; ++slab)
      load_for_column(destination + (slab * kDepth + first) * kRowBytes, map, barrier,
                      n + slab * kSlab, k + first);
  }

 private:
  static constexpr int kRowBytes = 128;

  template <int kCount>
  static __device__ __forceinline__ void load(int mates, uint32_t destination,
                                              const CUtensorMap* map, uint32_t barrier, int x,
                                              int y) {
    if constexpr (kCount > 1)
      ptx::load_box_multicast(destination, map, barrier, x, y, static_cast<uint16_t>(mates));
    else
      ptx::load_box(destination, map, barrier, x, y);
  }
};

// A thread of a consumer: the consumer's number, the thread's number in it, and the CTA's mates.
template <class Mates>
struct Consumer {
  int number, thread;
  Mates mates;
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_MATES_CUH
