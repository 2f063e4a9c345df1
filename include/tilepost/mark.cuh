// Marks: what a GEMM kernel says about itself so that communication can be woven into it.
//
// Every mark is an inline function that means something un-woven, so a marked kernel compiles and
// runs as the plain GEMM it is. The weaver replaces the callee: tilepost::tile becomes
// tilepost::woven::tile with the plan's view as first argument, and so on (device/woven.cuh,
// host/woven.h).
#ifndef TILEPOST_MARK_CUH
#define TILEPOST_MARK_CUH

#ifdef __CUDACC__
#define TILEPOST_INLINE __host__ __device__ __forceinline__
#else
#define TILEPOST_INLINE inline
#endif

namespace tilepost {

// Element type of a kernel's operands; of its output only the 16-bit ones.
enum class DType { bf16, f16, e4m3, f32 };

// The tiles of one output: how many, how large, and how a plain kernel walks them. `cluster` CTAs
// with consecutive positions share a tile column; `band` tile rows are swept together, so that
// their operands are still in L2 when the next column needs them.
struct TileGrid {
  int tiles_m, tiles_n;
  int tile_m, tile_n;
  int cluster, band;
};

// One position of the schedule. `m` and `n` are the first row and column of the product that the
// tile computes, `row` is the destination row of its first row, -1 for a padding tile, which exists
// to fill a cluster: compute it or not, but do not store it.
struct Tile {
  int m, n;
  int row;
  int group;
  TILEPOST_INLINE bool is_padding() const { return row < 0; }
};

// Coordinates for a TMA store into the two-dimensional output: x along a row, y down the rows.
struct Coord {
  int x, y;
};

// Which stores tile_done has to complete.
struct BlockStores {};  // ordinary stores by all threads of the block; called by all of them
struct WarpStores {};   // ordinary stores by the lanes of a warp; called by all of them
struct BulkStores {     // bulk-group stores issued by the calling thread, which alone calls
  int part = 0;         // number of what it has stored, of the `parts` in which a tile is stored
  int parts = 1;
  unsigned run = 0;  // as TileStores has it
};

// What a thread that issues a tile's TMA stores knows of its last one, for pace(). `threads`
// threads of a CTA issue stores at the same time, this is number `thread` of them.
struct Pacer {
  int thread, threads;
  unsigned last = 0;  // the SM's clock; 0: none yet
};

// Shared memory of a CTA that the kernel leaves alone: its address there (ptx::shared_address), a
// multiple of 128, and how much.
struct HelperMemory {
  unsigned address;
  int bytes;
};

// What a thread that stores tiles knows of the run whose tiles other ranks get.
struct TileStores {
  unsigned run = 0;       // its number
  bool may_store = true;  // the run was not given up
};

// Where a box of a tile goes: (x, y) of a tensor map.
template <class Map>
struct OutPlace {
  const Map* map;
  int x, y;
};

// What a CTA has of every tile: rows [first_row, end_row), all of its `columns`; number `number` of
// the parts that a tile has.
struct TilePart {
  int number;
  int first_row, end_row;
  int columns;
};

// All that a CTA has: that part of the tiles at positions first, first + stride, … below tiles. A
// tile has `per_tile` parts; they are stored in boxes of `box_rows` rows. Of the tile's u units of
// eight rows part p has those from p * u / per_tile on, rounded down.
struct TileParts {
  int first, stride, tiles;
  int per_tile;
  int box_rows;
  TilePart part;
};

// Where a CTA has its part of a tile in shared memory: a panel for every 64 columns, `stride` bytes
// apart, rows of 128 bytes in the swizzled form that TMA stores from: of a row's eight chunks of 16
// bytes, chunk c lies at c ^ (row % 8). All addresses are those of shared memory; barriers are
// mbarriers of 8 bytes: a panel is there when its own has completed a phase, and may be written
// again when all who read panels have arrived at the other. Who reads them may use `own`, and
// `idle` once the CTA's last panel is there.
struct TilePanels {
  unsigned address;
  int stride;
  unsigned full;   // of the first panel; the others' follow
  unsigned empty;  // 0: nobody else reads panels
  HelperMemory own, idle;
};

// Which loads input_ready has to let wait.
struct BlockLoads {};  // ordinary and asynchronous copies by all threads of the block; all call
struct BulkLoads {     // TMA loads by the calling thread, which alone calls
  int arrived = 0;     // groups that the thread need not wait for any more; kept for its next tile
  // Of a kernel that is a whole run: its number, and which half of what counters have to reach
  // holds.
  unsigned run = 0, half = 0;
};
// The same in a kernel whose idle warps wait for it (exchange_rows), kept for all of its tiles.
struct HelpedLoads {
  unsigned arrived;     // the word of shared memory that open_input and exchange_rows get
  int tiles = 0;        // that the thread has asked for
  bool opened = false;  // the maps of in_map
  unsigned parity = 0;  // of the run
};

// A number the plan may choose. The name is a string literal; `fallback` is what un-woven code
// uses.
template <class T>
TILEPOST_INLINE constexpr T tunable(const char* /*name*/, T fallback) {
  return fallback;
}

// How many positions the schedule has.
TILEPOST_INLINE int num_tiles(const TileGrid& grid) {
  return (grid.tiles_m + grid.cluster - 1) / grid.cluster * grid.cluster * grid.tiles_n;
}

// The tile at `position`: bands of `band` tile rows, each swept along n, every other one backwards.
TILEPOST_INLINE Tile tile(const TileGrid& grid, int position) {
  const int padded_m = (grid.tiles_m + grid.cluster - 1) / grid.cluster * grid.cluster;
  const int band_tiles = grid.band * grid.tiles_n;
  const int band = position / band_tiles;
  const int first_m = band * grid.band;
  const int height = padded_m - first_m < grid.band ? padded_m - first_m : grid.band;
  const int in_band = position - band * band_tiles;
  const int column = in_band / height;
  const int m = first_m + in_band % height;
  const int n = band % 2 == 0 ? column : grid.tiles_n - 1 - column;
  return Tile{m * grid.tile_m, n * grid.tile_n, m < grid.tiles_m ? m * grid.tile_m : -1, 0};
}

// The output element (row, col) of a tile; ld is the row length of the row-major output.
template <class T>
TILEPOST_INLINE T& out(T* c, const TileGrid& /*grid*/, const Tile& tile, int row, int col, int ld) {
  return c[static_cast<long long>(tile.row + row) * ld + tile.n + col];
}

// The output element (row, col) of the whole output, for kernels that do not take tiles from
// tile().
template <class T>
TILEPOST_INLINE T& out(T* c, int row, int col, int ld) {
  return c[static_cast<long long>(row) * ld + col];
}

// The output as the tile's stores see it, for kernels that address it by themselves: element
// (tile.m + i, tile.n + j) of the product is at [(tile.m + i) * ld + tile.n + j] behind this
// pointer. Of a padding tile nothing is there.
template <class T>
TILEPOST_INLINE T* out_base(T* c, const TileGrid& /*grid*/, const Tile& /*tile*/, int /*ld*/) {
  return c;
}

// The same place for a TMA store whose tensor map covers the output.
TILEPOST_INLINE Coord out_coord(const TileGrid& /*grid*/, const Tile& tile, int row, int col) {
  return Coord{tile.n + col, tile.row + row};
}

// The tensor map for that store, of type Map; `map` covers the output.
template <class Map>
TILEPOST_INLINE const Map* out_map(const Map* map, const Tile& /*tile*/) {
  return map;
}

// The calling thread will store tiles of an output of m rows through out_map; `storers` threads of
// the CTA do, and all of them call. Woven where maps lie in global memory: the fence that TMA needs
// before it reads them (PTX ISA, fence.proxy.tensormap); and where no kernel in front of this one
// has waited until other ranks' memory may be written, that wait. False: the run was given up, so
// nothing may be stored, and no tile is done.
TILEPOST_INLINE bool open_out_maps(int /*m*/, int /*storers*/) {
  return true;
}

// The same in a kernel that adds sources (below): the thread keeps what it learns of the run.
TILEPOST_INLINE void open_out_maps(int /*m*/, int /*storers*/, TileStores& /*stores*/) {}

// ---- Sources: what other ranks have computed of a tile, which the kernel adds to its own sums
// before it rounds them.

// How many sources the tile has; their order is that in which they are added.
TILEPOST_INLINE int num_sources(const Tile& /*tile*/) {
  return 0;
}

// All lanes of a warp of each CTA, once, before any of them calls open_sources; `notes`: shared
// memory that the kernel leaves alone, at least 16 bytes; `storers` as for open_out_maps. Woven:
// begins the run, which the first CTA's warp tells the other ranks.
TILEPOST_INLINE void begin_sources(HelperMemory /*notes*/, int /*storers*/) {}

// The same warp, once it has nothing left to do; `parts` as for await_source. Woven: the run ends
// with the last of these, and where sums go to all ranks not before those of the others are here.
TILEPOST_INLINE void end_sources(HelperMemory /*notes*/, int /*parts*/) {}

// To how many other ranks the sum of a tile with sources goes.
TILEPOST_INLINE int num_pushes(const Tile& /*tile*/) {
  return 0;
}

// The tensor map, of type Map, for the stores of the tile at one of these, with the coordinates of
// out_coord.
template <class Map>
TILEPOST_INLINE const Map* push_map(const Map* map, int /*push*/) {
  return map;
}

// The calling thread, one of `storers` of the CTA, has completed all of its stores; `parts` as for
// await_source. Woven where sums go to all ranks: the last thread of all CTAs tells them.
TILEPOST_INLINE void stores_done(const TileStores& /*stores*/, int /*storers*/, int /*parts*/) {}

// Waits until parts [first, first + count), of the `parts` in which a tile is stored, of the tile's
// source `source` are there for TMA loads by the calling thread. `notes` as begin_sources has it.
TILEPOST_INLINE void await_source(const Tile& /*tile*/, int /*source*/, int /*first*/,
                                  int /*count*/, int /*parts*/, HelperMemory /*notes*/) {}

// The tensor map, of type Map, for those loads, with the coordinates of out_coord.
template <class Map>
TILEPOST_INLINE const Map* source_map(const Map* map, int /*source*/) {
  return map;
}

// The thread is about to issue one of several TMA stores of a tile. Woven where they go to other
// ranks' memory: waits until the plan's time has passed since the one before, so that tiles leave
// evenly while the next are computed. `last_tile`: there is nothing left to compute meanwhile.
TILEPOST_INLINE void pace(Pacer& /*pacer*/, const Tile& /*tile*/, bool /*last_tile*/) {}

// The tile's rows of A are read from here on. Woven where A arrives while the kernel runs: waits
// until they have. A thread that keeps its BulkLoads does not ask twice for the same rows.
TILEPOST_INLINE void input_ready(const Tile& /*tile*/, BlockLoads) {}
TILEPOST_INLINE void input_ready(const Tile& /*tile*/, BulkLoads& /*loads*/) {}
TILEPOST_INLINE void input_ready(const Tile& /*tile*/, BulkLoads&& /*loads*/) {}

TILEPOST_INLINE void input_ready(const Tile& /*tile*/, HelpedLoads& /*loads*/) {}

// Whether input_ready of the tile, which is the next one, would come back at once: a kernel may
// load what it has of other operands meanwhile.
TILEPOST_INLINE bool input_has_come(const Tile& /*tile*/, const HelpedLoads& /*loads*/) {
  return true;
}

// The tensor map, of type Map, for loads of the tile's rows of A; `map` covers A. Woven where A
// arrives while the kernel runs: the tile's rows are this rank's own, or are among those that
// arrive in other memory.
template <class Map>
TILEPOST_INLINE const Map* in_map(const Map* map, const Tile& /*tile*/) {
  return map;
}
template <class Map>
TILEPOST_INLINE const Map* in_map(const Map* map, const Tile& /*tile*/,
                                  const BulkLoads& /*loads*/) {
  return map;
}
template <class Map>
TILEPOST_INLINE const Map* in_map(const Map* map, const Tile& /*tile*/,
                                  const HelpedLoads& /*loads*/) {
  return map;
}

// One thread, before the first barrier of the CTA. `arrived`: a word of shared memory that the
// kernel leaves alone. Woven where helper warps tell there what has arrived: sets it to zero.
TILEPOST_INLINE void open_input(unsigned /*arrived*/) {}

// The calling thread will load through in_map. Woven where maps lie in global memory: the fence
// that TMA needs before it reads them (PTX ISA, fence.proxy.tensormap).
TILEPOST_INLINE void open_in_map() {}

// The same where the thread keeps its BulkLoads: a kernel that is a whole run then finds out which.
TILEPOST_INLINE void open_in_map(BulkLoads& /*loads*/) {}

// A warp of the CTA has nothing to do; all its lanes call, once, and no other warp. `output` is the
// type of C, a constant; `storers` as for open_out_maps. Woven where other ranks' parts of C are to
// be added up, or rows moved: does that while the kernel runs (device/tasks.cuh). `finishers`, a
// constant: how many warps of the CTA call finish_tasks, at most 15.
TILEPOST_INLINE void helper_warp(HelperMemory /*helper*/, DType /*output*/, int /*storers*/,
                                 int /*finishers*/ = 0) {}

// Warp `warp` of `finishers` has nothing left to multiply; all its lanes call, once. `helper` and
// `output` as for helper_warp. Woven where helper warps add up or move what all ranks have stored:
// does so with what comes last, of which one warp would still have much to do.
TILEPOST_INLINE void finish_tasks(HelperMemory /*helper*/, DType /*output*/, int /*warp*/,
                                  int /*finishers*/) {}

// The calling thread will store parts of tiles (few rows). Woven where other ranks get them: finds
// out which run it is, and waits until their memory may be written.
TILEPOST_INLINE void open_exchange(TileStores& /*stores*/) {}

// To how many places a box of a tile goes, and the place `place` of those; the box has `rows` rows
// of a tile from `row` on, and columns from `col` on. `map` covers the output. Woven where other
// ranks get the tile: memory of theirs.
TILEPOST_INLINE int num_places(const TileStores& /*stores*/, const Tile& /*tile*/, int /*row*/,
                               int /*rows*/) {
  return 1;
}
template <class Map>
TILEPOST_INLINE OutPlace<Map> out_place(const TileStores& /*stores*/, const Map* map,
                                        const TileGrid& /*grid*/, const Tile& tile, int row,
                                        int /*rows*/, int col, int /*place*/) {
  return {map, tile.n + col, tile.row + row};
}

// The calling thread has committed all stores of a part: rows [first, end) of the tile, `part` of
// all the schedule's. Woven where other ranks get it: completes them and tells the ranks.
TILEPOST_INLINE void part_stored(const TileStores& /*stores*/, const Tile& /*tile*/, int /*first*/,
                                 int /*end*/, int /*part*/) {}

// The same where the thread has the part's elements at `panel`, as many a row as a tile has
// columns.
template <class T>
TILEPOST_INLINE void part_stored(const TileStores& /*stores*/, const Tile& /*tile*/, int /*first*/,
                                 int /*end*/, int /*part*/, const T* /*panel*/) {}

// Threads of the CTA, `threads` of them in whole warps, have nothing to do; all of them call, once,
// this is number `thread`. `shape` is the kernel's, `output` the type of C, a constant. Woven where
// ranks exchange tiles: adds up what has come of the CTA's parts (device/exchange.cuh). `joining`,
// a constant: how many threads of the CTA call finish_exchange.
template <class Shape>
TILEPOST_INLINE void exchange_tiles(const TileParts& /*parts*/, const TilePanels& /*panels*/,
                                    const Shape& /*shape*/, DType /*output*/, int /*thread*/,
                                    int /*threads*/, int /*joining*/ = 0) {}

// Threads in whole warps have nothing left to multiply; all of them call, once. They are numbered
// behind those that call exchange_tiles: this is number `thread` of `threads`, all together. Woven
// where those add up parts: joins them for the CTA's last part, when no more is to be done.
template <class Shape>
TILEPOST_INLINE void finish_exchange(const TileParts& /*parts*/, const TilePanels& /*panels*/,
                                     const Shape& /*shape*/, DType /*output*/, int /*thread*/,
                                     int /*threads*/) {}

// The same threads. Woven where ranks exchange rows of A: stores some of this rank's with all
// ranks, and waits for those that the CTA's tiles need (device/exchange_rows.cuh). `arrived`: as
// open_input has it.
template <class Shape>
TILEPOST_INLINE void exchange_rows(const TileParts& /*parts*/, const Shape& /*shape*/,
                                   unsigned /*arrived*/, int /*thread*/, int /*threads*/) {}

// The same of a thread that stands for a CTA and does everything by turns: exchange_rows before its
// first tile, exchange_tiles behind its last. `rows`: A, as the kernel has it.
template <class Shape, class T>
TILEPOST_INLINE void exchange_rows(const TileParts& /*parts*/, const Shape& /*shape*/,
                                   const T* /*rows*/) {}
template <class Shape, class T>
TILEPOST_INLINE void exchange_tiles(const TileParts& /*parts*/, const Shape& /*shape*/,
                                    DType /*output*/, const T* /*rows*/) {}

// Every store of the tile has been issued. Woven: completes them and raises the group's counter,
// also for a padding tile; where they went to another rank's memory, the counter there, and none
// for a padding tile, which no rank owns.
TILEPOST_INLINE void tile_done(const Tile& /*tile*/, BlockStores) {}
TILEPOST_INLINE void tile_done(const Tile& /*tile*/, WarpStores) {}
TILEPOST_INLINE void tile_done(const Tile& /*tile*/, BulkStores) {}

}  // namespace tilepost

#endif  // TILEPOST_MARK_CUH
