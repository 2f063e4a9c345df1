// How a kernel reads rows of A that are those of tokens (TILEPOST_DISPATCH_GROUPED_GEMM). TMA would
// load each row by itself, and takes some 40 cycles for a row. So threads copy them.
#ifndef TILEPOST_DEVICE_TOKEN_ROWS_CUH
#define TILEPOST_DEVICE_TOKEN_ROWS_CUH

#include <cstdint>

#include "tilepost/device/pipeline.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm80.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/ring.cuh"
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
// 8). Eight threads side by side have a row's chunks, and a thread has every eighth row. So its
// chunk lies at the same place in all of its rows. A tile has up to kTileM rows.
template <int kTileM, int kElementBytes>
struct TokenRows {
  static constexpr int kThreads = 64, kWarps = kThreads / 32;
  static constexpr int kRowBytes = 128, kChunkBytes = 16, kChunks = kRowBytes / kChunkBytes;
  static constexpr int kStep = kThreads / kChunks, kEach = kTileM / kStep;
  static_assert(kStep == 8 && kTileM % kStep == 0 && kEach <= 32, "a bit for each row");

  const int chunk, first;
  uint32_t rows[kEach];         // in chunks of sixteen bytes from where rows of A begin
  uint32_t valid = 0, own = 0;  // bit i for rows[i]: whether the tile has it, and it is this rank's

  __device__ __forceinline__ explicit TokenRows(int thread)
      : chunk(thread % kChunks), first(thread / kChunks) {}

  // Finds where the rows of a tile lie. `pitch`: elements from a row of A to the next.
  __device__ __forceinline__ void find(const Experts& experts, const ExpertTile& tile, int pitch) {
    const uint32_t chunks = static_cast<uint32_t>(pitch) * kElementBytes / kChunkBytes;
    valid = own = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int row = first + i * kStep;
      rows[i] = row < tile.rows ? __ldg(experts.tokens + tile.row + row) : 0;
      valid |= (row < tile.rows ? 1u : 0u) << i;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const TokenPlace place = place_of_token(static_cast<int>(rows[i]), experts.most_tokens);
      own |= (place.rank == experts.rank ? 1u : 0u) << i;
      rows[i] = static_cast<uint32_t>(place.rank * experts.token_rows + place.token) * chunks;
    }
  }

  // Starts to copy the stage whose elements of K begin at `k` to the shared-memory address `to`.
  // Elements from `end` on become zeros.
  __device__ __forceinline__ void copy(const Experts& experts, uint32_t to, int k, int end) const {
    const int at = k + chunk * (kChunkBytes / kElementBytes);
    const bool inside = at < end;
    const long long bytes = inside ? static_cast<long long>(at) * kElementBytes : 0;
    const char* const here = static_cast<const char*>(experts.own_rows) + bytes;
    const char* const there = static_cast<const char*>(experts.all_rows) + bytes;
    to += first * kRowBytes + (chunk ^ first) * kChunkBytes;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if ((valid >> i & 1) == 0) continue;
      const char* const base = (own >> i & 1) != 0 ? here : there;
      ptx::copy_async<kChunkBytes>(to + i * kStep * kRowBytes,
                                   base + static_cast<uint64_t>(rows[i]) * kChunkBytes, inside);
    }
    ptx::commit_copies();
  }
};

// Tells consumers of stages that have been copied, at their barriers. A thread's copies of kLag
// stages may be under way when it starts those of another one. All lanes of each warp that copies
// call this.
//
// Copies are made through the generic proxy, and the matrix instructions read through the async
// proxy. So each thread waits for its copies, and its proxy fence puts them before what it releases
// at the barrier (PTX ISA, cp.async.wait_group; membar/fence: fence.proxy.async): bar.warp.sync
// orders what the lanes have fenced before the arrival of one of them.
template <int kStages, class StageBarriers, int kLag = 3>
struct CopiedStages {
  static_assert(kLag < kStages, "a stage is told of before it is needed again");

  StageBarriers barriers;
  int lane;
  Ring<kStages> next{0};  // the first stage that was not told of
  int ahead = 0;          // how many were copied since

  __device__ __forceinline__ void started() {
    if (++ahead <= kLag) return;
    ptx::wait_copies<kLag>();
    tell();
  }
  __device__ __forceinline__ void finish() {
    ptx::wait_copies<0>();
#pragma unroll 1
    while (ahead > 0) tell();
  }

 private:
  __device__ __forceinline__ void tell() {
    ptx::fence_shared_to_async();
    __syncwarp();
    if (lane == 0) ptx::arrive(barriers.full(next.index));
    next.advance();
    --ahead;
  }
};

}  // namespace tilepost

#endif  // TILEPOST_DEVICE_TOKEN_ROWS_CUH
