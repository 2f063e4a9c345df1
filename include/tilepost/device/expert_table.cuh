// What a CTA of a grouped GEMM knows of the experts: a table in shared memory, from which its
// threads compute tiles (tilepost/internal/expert_tiles.h).
#ifndef TILEPOST_DEVICE_EXPERT_TABLE_CUH
#define TILEPOST_DEVICE_EXPERT_TABLE_CUH

#include <cstdint>

#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/internal/expert_tiles.h"
#include "tilepost/mark.cuh"

namespace tilepost {

// The value of a warp's first lane. All lanes call this, with the same value. It tells the compiler
// that a branch on the value is taken by the whole warp, as matrix instructions need.
__device__ __forceinline__ int same_in_warp(int value) {
  return __shfl_sync(0xFFFFFFFF, value, 0);
}

// The table at the shared-memory address `base`. Entry e is for expert e, and there is one behind
// the last expert's: how many tile rows the experts before e have, then how many rows.
struct ExpertTable {
  static constexpr int kBytes = kExpertTableBytes;
  uint32_t base;

  __device__ __forceinline__ int tile_rows(int expert) const {
    return static_cast<int>(ptx::load_shared_word(base + expert * 8));
  }
  __device__ __forceinline__ int rows(int expert) const {
    return static_cast<int>(ptx::load_shared_word(base + expert * 8 + 4));
  }

  // Makes the table for m rows of A. All `threads` threads of the CTA call this, of which this one
  // is number `thread`, and meet behind it. An expert whose end lies before the end of the expert
  // before it has no rows.
  __device__ __forceinline__ void build(const Experts& experts, int m, int tile_m, int thread,
                                        int threads) const {
    for (int e = thread; e < experts.count; e += threads) {
      const int begin = e == 0 ? 0 : experts.end(e - 1, m), end = experts.end(e, m);
      store(e + 1, count_tile_rows(max(end - begin, 0), tile_m), end);
    }
    if (thread == 0) store(0, 0, 0);
    __syncthreads();
    if (thread < 32) add_up(experts.count, thread);
  }

 private:
  __device__ __forceinline__ void store(int entry, int tile_rows, int rows) const {
    ptx::store_shared_word(base + entry * 8, static_cast<uint32_t>(tile_rows));
    ptx::store_shared_word(base + entry * 8 + 4, static_cast<uint32_t>(rows));
  }

  // Turns numbers of tile rows into numbers of tile rows so far. All lanes of one warp call this.
  __device__ __forceinline__ void add_up(int experts, int lane) const {
    int before = 0;
#pragma unroll 1
    for (int first = 1; first <= experts; first += 32) {
      const int entry = first + lane;
      int sum = entry <= experts ? tile_rows(entry) : 0;
#pragma unroll
      for (int step = 1; step < 32; step *= 2) {
        const int other = __shfl_up_sync(0xFFFFFFFF, sum, step);
        if (lane >= step) sum += other;
      }
      if (entry <= experts)
        ptx::store_shared_word(base + entry * 8, static_cast<uint32_t>(before + sum));
      before += __shfl_sync(0xFFFFFFFF, sum, 31);
    }
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_EXPERT_TABLE_CUH
