// How a kernel reads rows of A that are those of tokens (TILEPOST_DISPATCH_GROUPED_GEMM). TMA would
// load each row by itself, and takes some 40 cycles for a row. So threads copy them.
#ifndef TILEPOST_DEVICE_TOKEN_ROWS_CUH
#define TILEPOST_DEVICE_TOKEN_ROWS_CUH

#include <cstdint>

#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/internal/token_tiles.h"
#include "tilepost/mark.cuh"

namespace tilepost {

// The entries of the list of tile rows.
struct TokenTiles {
  const tilepost_token_tile_t* list;

  __device__ __forceinline__ int count() const { return ptx::load_readonly(list).x; }
  __device__ __forceinline__ tilepost_token_tile_t operator()(int index) const {
    const ptx::Quad entry = ptx::load_readonly(list + 1 + index);
    return {entry.x, entry.y, entry.z, entry.w};
  }
};

// The rows of a tile that one thread of kThreads copies, sixteen bytes of each. In shared memory
// rows have 128 bytes and the swizzle of tensor maps: chunk c of a row's eight lies at c ^ (row %
// 8). Eight threads side by side have a row's chunks, and a thread has every kStep-th row, a
// multiple of eight. So its chunk lies at the same place in all of its rows. A tile has up to
// kTileM rows.
template <int kTileM, int kElementBytes>
struct TokenRows {
  static constexpr int kThreads = 128;  // a warpgroup
  static constexpr int kRowBytes = 128, kChunkBytes = 16, kChunks = kRowBytes / kChunkBytes;
  static constexpr int kStep = kThreads / kChunks, kEach = kTileM / kStep;
  static_assert(kStep % kChunks == 0 && kTileM % kStep == 0);

  const int chunk, first;
  const char* rows[kEach];  // where the thread's chunk of each row begins, for k = 0
  int count = 0;            // how many rows the thread has in the tile

  __device__ __forceinline__ explicit TokenRows(int thread)
      : chunk(thread % kChunks), first(thread / kChunks) {}

  // Finds where the rows of a tile lie. `pitch`: elements from a row of A to the next.
  __device__ __forceinline__ void find(const Experts& experts, const ExpertTile& tile, int pitch) {
    const long long bytes = static_cast<long long>(pitch) * kElementBytes;
    count = max(tile.rows - first + kStep - 1, 0) / kStep;
    int numbers[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      numbers[i] = i < count ? __ldg(experts.tokens + tile.row + first + i * kStep) : 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const TokenPlace place = place_of_token(numbers[i], experts.most_tokens);
      const void* const base = place.rank == experts.rank ? experts.own_rows : experts.all_rows;
      const int row = place.rank * experts.token_rows + place.token;
      rows[i] = static_cast<const char*>(base) + row * bytes + chunk * kChunkBytes;
    }
  }

  // Starts to copy the stage whose elements of K begin at `k` to the shared-memory address `to`.
  // Elements from `end` on become zeros. The thread arrives at the barrier `full` when its copies
  // have landed. It does not wait for them, so copies of all stages may be under way.
  //
  // Copies are made through the generic proxy, and matrix instructions read through the async
  // proxy. So whoever waits at the barrier needs a proxy fence behind the wait, by which the copies
  // precede its reads (PTX ISA 8.6, Proxies: the fence lies on the path of causality). A fence of
  // the copying thread would wait for its copies of later stages too.
  __device__ __forceinline__ void copy(uint32_t to, int k, int end, uint32_t full) const {
    const bool inside = k + chunk * (kChunkBytes / kElementBytes) < end;
    const long long offset = inside ? static_cast<long long>(k) * kElementBytes : 0;
    to += first * kRowBytes + (chunk ^ first % kChunks) * kChunkBytes;
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      ptx::copy_async_if(i < count, to + i * kStep * kRowBytes, rows[i] + offset, inside);
    ptx::arrive_behind_copies(full);
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_TOKEN_ROWS_CUH
