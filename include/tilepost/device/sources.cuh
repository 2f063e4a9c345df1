// Sources: tiles of this rank's rows that other ranks have computed. They are added up in the
// epilogue of this rank's own tiles (tilepost_plan_t::fused). The other ranks' kernels store them
// in slots here and raise a flag for each. The own tiles come later in the schedule
// (tilepost_map_t::turn). This file also serves finished tiles that the kernel stores into other
// ranks' outputs. docs/internals/owner-sums.md has the proof.
#ifndef TILEPOST_DEVICE_SOURCES_CUH
#define TILEPOST_DEVICE_SOURCES_CUH

#include <cstdint>

#include "tilepost/device/meeting.cuh"
#include "tilepost/device/ptx.cuh"
#include "tilepost/device/ptx_sm90.cuh"
#include "tilepost/device/whole_run.cuh"
#include "tilepost/internal/exchange_words.h"
#include "tilepost/mark.cuh"
#include "tilepost/plan.h"

namespace tilepost::woven {

// kStores: the rank that owns a tile's rows. A padding tile, which no rank owns, gives rank 0.
__device__ __forceinline__ int owner_of(const tilepost_view_t& view, const Tile& tile) {
  return tile.is_padding() ? 0 : tile.m / view.share_rows;
}

// How many sources the tile has. In a run that does not overlap no tile has any: a collective adds
// up the whole product.
template <class View>
__device__ __forceinline__ int num_sources(const View& view, const Tile& tile) {
  if constexpr (View::kSources == 0) return 0;
  const bool own = !tile.is_padding() && owner_of(view, tile) == view.rank;
  return own && is_whole_run(view) ? View::kSources : 0;
}

// The rank that source `source` comes from. Sources are the other ranks in increasing order.
__device__ __forceinline__ int rank_of_source(const tilepost_view_t& view, int source) {
  return source < view.rank ? source : source + 1;
}

// The flags of part `part` of a tile on its owner; flag r is that of the rank r that stores. Tiles
// of the owner's share are counted along the rows of tiles, and each has `parts` parts.
template <class View>
__device__ __forceinline__ uint32_t* flags_of_part(const View& view, const Tile& tile, uint32_t run,
                                                   int part, int parts) {
  const int owner = owner_of(view, tile);
  const int tile_row = (tile.m - owner * view.share_rows) / View::kTileM;
  const int number = tile_row * view.tiles_n + tile.n / View::kTileN;
  return exchange_flags(view.exchange, owner, run, 0, number * parts + part);
}

// Called when the calling thread has committed the stores of its part of a tile to the tile's
// owner. The flag is released when the stores are complete, as a counter is in tile_done. A flag
// has one writer, so it is stored and not added to.
template <class View>
__device__ __forceinline__ void raise_flag(const View& view, const Tile& tile,
                                           const BulkStores& stores) {
  ptx::wait_bulk<0>();
  ptx::store_release_sys(
      flags_of_part(view, tile, stores.run, stores.part, stores.parts) + view.rank, stores.run);
}

// All lanes of the source warp, which brings the sources. The warp keeps notes of the run as a
// helper warp does, but has memory for the notes only. notes_at() gives the address that the memory
// of a helper warp would have whose notes (whole_run.cuh) lie at `notes`.
__device__ __forceinline__ uint32_t notes_at(HelperMemory notes) {
  return notes.address - kRunNote;
}
template <class View>
__device__ __forceinline__ void begin_sources(const View& view, HelperMemory notes, int storers) {
  if constexpr (View::kOthers > 0) {
    ptx::wait_for_previous_kernels();
    if (!is_whole_run(view)) return;
    begin_whole_run(view.exchange, notes_at(notes));
    __syncwarp();
    count_helper(view.exchange, notes_at(notes), storers);
    // No thread changes the maps while the kernel runs.
    if (View::kSources > 0 && threadIdx.x % 32 == 0)
#pragma unroll 1
      for (int rank = 0; rank < View::kSources + 1; ++rank)
        ptx::acquire_tensor_map(static_cast<const CUtensorMap*>(view.source_maps) + rank);
  }
}

// One thread. Waits until a flag holds the number of the run, and acquires what was released with
// it. Returns false if the run was given up. The thread polls seldom: a tile's sources come long
// before they are needed, and polling takes power and issue slots from the products. A long wait is
// reported to the host, in a place that all waits for flags share. It clears the place when it is
// over.
__device__ __forceinline__ bool await_flag(const tilepost_exchange_t& exchange,
                                           const uint32_t* flag, uint32_t run) {
  constexpr unsigned kPollNanoseconds = 200;
  constexpr int kPollsPerCheck = 1 << 15;  // the abort word lies in the host's memory
  volatile uint32_t* const told = exchange.arrived_wait;
  if (is_given_up(exchange)) return false;
  int polls = 1;
  for (; ptx::load_relaxed_sys(flag) != run; ++polls) {
    if (polls % kPollsPerCheck == 0) {
      if (ptx::load_relaxed_sys(exchange.abort) != 0) {
        give_up(exchange);
        return false;
      }
      told[1] = 0;  // the only group
      told[2] = run - 1;
      told[3] = run;
      __threadfence_system();
      told[0] = kWaitIsOpen;
    }
    ptx::sleep_ns(kPollNanoseconds);
  }
  if (polls >= kPollsPerCheck) told[0] = 0;
  ptx::load_acquire_sys(flag);
  return true;
}

// ---- Finished tiles that go to other ranks

// The flags that say that all finished tiles of a rank are on rank `where`; flag r is that of the
// rank r that stores. They lie behind the flags of the run's parts, which tiles without sources do
// not have.
template <class View>
__device__ __forceinline__ uint32_t* flags_of_end(const View& view, int where, uint32_t run,
                                                  int parts) {
  const int behind = View::kSources > 0 ? view.share_tiles * view.tiles_n * parts : 0;
  return exchange_flags(view.exchange, where, run, 0, behind);
}

template <class View>
__device__ __forceinline__ int num_pushes(const View& view, const Tile& tile) {
  return View::kSpreads ? num_sources(view, tile) : 0;
}

// The maps of pushes are parameters of the kernel, and parameters need no fence.
template <class View, class Map>
__device__ __forceinline__ const Map* push_map(const View& view, const Map* map, int push) {
  if constexpr (View::kSpreads)
    return reinterpret_cast<const Map*>(view.push_maps + rank_of_source(view, push));
  else
    return map;
}

// Called by each store thread when all of its stores are complete. The last one to call announces
// to the other ranks that everything that this rank stores there has come. If a wait for a source
// was given up, sums lack that source, and nothing is announced. The rank's source thread notes
// that the wait was given up before consumers get the source, and so before a store thread counts
// itself here.
//
// The last thread to count itself has observed the stores of all others: the stores of each are
// complete and visible to their thread, which counted itself behind a fence. So the last thread's
// releases cover all of them (PTX ISA 8.9.5: causality order is transitive).
template <class View>
__device__ __forceinline__ void stores_done(const View& view, const TileStores& stores, int storers,
                                            int parts) {
  if constexpr (View::kSpreads) {
    const tilepost_exchange_t& exchange = view.exchange;
    if (!is_whole_run(view) || !stores.may_store) return;
    __threadfence();
    if (atomicAdd(exchange.run + kStoredWord, 1) + 1 != gridDim.x * storers) return;
    __threadfence();
    *static_cast<volatile uint32_t*>(exchange.run + kStoredWord) = 0;
    if (is_given_up(exchange)) return;
#pragma unroll 1
    for (int i = 0; i < View::kOthers; ++i)
      ptx::store_release_sys(
          flags_of_end(view, rank_of_source(view, i), stores.run, parts) + view.rank, stores.run);
  }
}

// All lanes of CTA 0's source warp, one for each other rank. Waits for the tiles of all other
// ranks: the kernel must not end before they are here. Whatever reads them comes behind the kernel
// in its stream. So it is enough that one thread of the kernel has acquired the flags (PTX
// ISA 8.9.5).
template <class View>
__device__ __forceinline__ void await_end(const View& view, HelperMemory notes, int parts) {
  const int lane = threadIdx.x % 32;
  if (lane < View::kOthers) {
    const uint32_t run = ptx::load_shared_word(notes_at(notes) + kRunNote);
    const uint32_t* const flags = flags_of_end(view, view.rank, run, parts);
    await_flag(view.exchange, flags + rank_of_source(view, lane), run);
  }
  __syncwarp();
}

// All lanes of the source warp, when the CTA's own tiles have all their sources. The host watches a
// replay until the tiles of all CTAs have their sources. The last CTA reports that to the host.
template <class View>
__device__ __forceinline__ void end_sources(const View& view, HelperMemory notes, int parts) {
  if constexpr (View::kOthers > 0) {
    const tilepost_exchange_t& exchange = view.exchange;
    if (!is_whole_run(view)) return;
    __syncwarp();
    if constexpr (View::kSpreads)
      if (blockIdx.x == 0) await_end(view, notes, parts);
    if (exchange.replays == nullptr || threadIdx.x % 32 != 0) return;
    __threadfence();
    if (atomicAdd(exchange.run + kSourcesWord, 1) + 1 != gridDim.x) return;
    __threadfence();
    *static_cast<volatile uint32_t*>(exchange.run + kSourcesWord) = 0;
    end_replay(exchange, *static_cast<const volatile uint32_t*>(exchange.replays));
  }
}

// One thread. Waits for parts [first, first + count) of a source of the tile. The acquire orders
// the flags before what the thread does next, and the proxy fence before its loads by TMA (PTX ISA
// 8.6, Proxies). After a wait that was given up the thread loads what it finds: the run has failed.
template <class View>
__device__ __forceinline__ void await_source(const View& view, const Tile& tile, int source,
                                             int first, int count, int parts, HelperMemory notes) {
  if constexpr (View::kSources > 0) {
    const uint32_t run = ptx::load_shared_word(notes_at(notes) + kRunNote);
    const int rank = rank_of_source(view, source);
#pragma unroll 1
    for (int part = first; part < first + count; ++part) {
      const uint32_t* flag = flags_of_part(view, tile, run, part, parts) + rank;
      if (!await_flag(view.exchange, flag, run)) return;
    }
    ptx::fence_global_to_async();
  }
}

template <class View, class Map>
__device__ __forceinline__ const Map* source_map(const View& view, const Map* map, int source) {
  if constexpr (View::kSources > 0)
    return static_cast<const Map*>(view.source_maps) + rank_of_source(view, source);
  else
    return map;
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_SOURCES_CUH
