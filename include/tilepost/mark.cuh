// Marks: what a GEMM kernel says about itself so that communication can be woven into it.
//
// Every mark is an inline function that has a meaning of its own. So a marked kernel that is not
// woven compiles and runs as the plain GEMM that it is. The weaver replaces the callee:
// tilepost::tile becomes tilepost::woven::tile with the plan's view as its first argument, and so
// on (device/woven.cuh, host/woven.h). Below, "Woven" says what a mark does after that.
#ifndef TILEPOST_MARK_CUH
#define TILEPOST_MARK_CUH

#ifdef __CUDACC__
#define TILEPOST_INLINE __host__ __device__ __forceinline__
#else
#define TILEPOST_INLINE inline
#endif

struct tilepost_token_tile;  // tilepost/plan.h

namespace tilepost {

// Element types of a kernel's operands. An output has any of them but e4m3.
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
// tile computes. `row` is the destination row of the tile's first row, or -1 for a padding tile. A
// padding tile only fills up a cluster: compute it or not, but do not store it.
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
struct BulkStores {     // bulk-group stores issued by the calling thread; only that thread calls
  int part = 0;         // a tile is stored in `parts` parts: the number of the part stored
  int parts = 1;
  unsigned run = 0;  // TileStores::run
};

// What a thread that issues TMA stores of tiles remembers of its last one, for pace(). `threads`
// threads of a CTA issue stores at the same time, and this one is number `thread`.
struct Pacer {
  int thread, threads;
  unsigned last = 0;  // the SM's clock at that store, in cycles; 0: none yet
};

// Shared memory of a CTA that the kernel itself does not use. `address` is its address in shared
// memory (ptx::shared_address), a multiple of 128.
struct HelperMemory {
  unsigned address;
  int bytes;
};

// What a thread that stores tiles knows of the run, where other ranks get the tiles.
struct [[maybe_unused]] TileStores {
  unsigned run = 0;       // the run's number
  bool may_store = true;  // false: the run was given up
};

// Where a box of a tile goes: to (x, y) of a tensor map.
template <class Map>
struct OutPlace {
  const Map* map;
  int x, y;
};

// The part of a tile that a CTA has, the same in every tile: rows [first_row, end_row) and all of
// the tile's `columns`. `number` is its number among the parts of the tile.
struct TilePart {
  int number;
  int first_row, end_row;
  int columns;
};

// All parts that a CTA has: `part` of each tile at positions first, first + stride, … below
// `tiles`. A tile has `per_tile` parts, which are stored in boxes of `box_rows` rows. If a tile has
// u units of eight rows, part p begins at unit p * u / per_tile, rounded down.
struct TileParts {
  int first, stride, tiles;
  int per_tile;
  int box_rows;
  TilePart part;
};

// Where a CTA's part of a tile lies in shared memory. There is a panel for every 64 columns, and
// panels are `stride` bytes apart. A panel's rows have 128 bytes, in the swizzled form that TMA
// stores from: chunk c of a row's eight chunks of 16 bytes lies at c ^ (row % 8). All addresses are
// in shared memory, and barriers are mbarriers of 8 bytes. A panel is there when its barrier at
// `full` has completed a phase. Panels may be written again when all their readers have arrived at
// `empty`. The readers may use `own` as memory and, once the CTA's last panel is there, also
// `idle`.
struct TilePanels {
  unsigned address;
  int stride;
  unsigned full;   // the first panel's barrier; those of the others follow
  unsigned empty;  // 0: only the store thread reads panels
  HelperMemory own, idle;
};

// Which loads of A input_ready has to hold back.
struct BlockLoads {};  // ordinary and asynchronous copies by all threads of the block; all call
struct BulkLoads {     // TMA loads by the calling thread; only that thread calls
  int arrived = 0;     // groups that the thread need not wait for any more; kept for its next tile
  // In a kernel that is a whole run: the number of the run, and which half of
  // tilepost_exchange_t::expected is valid.
  unsigned run = 0, half = 0;
};
// TMA loads by a thread for which idle warps wait (exchange_rows). The thread keeps this structure
// for all of its tiles.
struct HelpedLoads {
  unsigned arrived;     // the word of shared memory that open_input and exchange_rows get
  int tiles = 0;        // how many tiles the thread has asked for
  bool opened = false;  // whether in_map's maps are fenced
  unsigned parity = 0;  // of the run
};

// A number that the plan may choose. The name is a string literal. `fallback` is the value in
// un-woven code.
template <class T>
TILEPOST_INLINE constexpr T tunable(const char* /*name*/, T fallback) {
  return fallback;
}

// The experts among which rows of A are divided, of which each has a B of its own.
struct Experts {
  const int* ends;  // [count] for each expert the row of A behind its last row; null: one expert
                    // has all rows
  int count;

  // The row behind the last row of `expert`, within the m rows of A.
  TILEPOST_INLINE int end(int expert, int m) const {
    const int row = ends == nullptr ? m : ends[expert];
    return row < 0 ? 0 : row < m ? row : m;
  }

  // Where rows are those of tokens, and null elsewhere: the list of tile rows (tilepost/plan.h),
  // and [m] the number of each row's token.
  const tilepost_token_tile* tiles = nullptr;
  const int* tokens = nullptr;
  // Token t of rank r has the number r * most_tokens + t, and row r * token_rows + t of A.
  int most_tokens = 1, token_rows = 1;
  int rank = 0;  // this rank
  // Row 0 of A where this rank has its own tokens, and where those of all ranks come together.
  const void* own_rows = nullptr;
  const void* all_rows = nullptr;
};

// The experts of a grouped GEMM. Woven: the plan's, with the ends that the run has.
TILEPOST_INLINE Experts experts() {
  return {nullptr, 1};
}

// How many positions the schedule has.
TILEPOST_INLINE int num_tiles(const TileGrid& grid) {
  return (grid.tiles_m + grid.cluster - 1) / grid.cluster * grid.cluster * grid.tiles_n;
}

// The tile at `position`. Bands of `band` tile rows are swept along n, every other band backwards.
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

// The output element (row, col) of a tile. `ld` is the row length of the row-major output, in
// elements.
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
// (tile.m + i, tile.n + j) of the product is at [(tile.m + i) * ld + tile.n + j] from this pointer.
// A padding tile has no elements there.
template <class T>
TILEPOST_INLINE T* out_base(T* c, const TileGrid& /*grid*/, const Tile& /*tile*/, int /*ld*/) {
  return c;
}

// The coordinates of element (row, col) of a tile, for a TMA store whose tensor map covers the
// output.
TILEPOST_INLINE Coord out_coord(const TileGrid& /*grid*/, const Tile& tile, int row, int col) {
  return Coord{tile.n + col, tile.row + row};
}

// The tensor map for a store at out_coord. `map` covers the output.
template <class Map>
TILEPOST_INLINE const Map* out_map(const Map* map, const Tile& /*tile*/) {
  return map;
}

// Says that the calling thread will store tiles of an output of m rows through out_map. `storers`
// threads of the CTA store tiles, and all of them call. Woven, where maps lie in global memory:
// executes the fence that TMA needs before it reads them (PTX ISA, fence.proxy.tensormap). Where no
// kernel in front of this one has waited until other ranks' memory may be written, waits for that.
// Returns false if the run was given up. Then the thread may store nothing and calls no tile_done.
TILEPOST_INLINE bool open_out_maps(int /*m*/, int /*storers*/) {
  return true;
}

// As open_out_maps above, in a kernel that adds sources (below). Whether the thread may store is
// kept in `stores`.
TILEPOST_INLINE void open_out_maps(int /*m*/, int /*storers*/, TileStores& /*stores*/) {}

// ---- Sources: other ranks' parts of a tile, which the kernel adds to its own sums before it
// rounds them. A kernel without sources that stores finished tiles in other ranks' outputs also
// uses the marks that begin and end a run.

// How many sources the tile has. They are added in the order of their numbers.
TILEPOST_INLINE int num_sources(const Tile& /*tile*/) {
  return 0;
}

// All lanes of one warp of each CTA call this once, before any of them calls await_source. `notes`
// is shared memory that the kernel itself does not use, at least 16 bytes. `storers` is as for
// open_out_maps. Woven: begins the run. The first CTA's warp announces that to the other ranks.
TILEPOST_INLINE void begin_sources(HelperMemory /*notes*/, int /*storers*/) {}

// The warp that called begin_sources calls this when it has nothing left to do. `parts` is as for
// await_source. Woven: the run ends with the last of these calls. Where finished tiles go to other
// ranks, the run does not end before the other ranks' tiles are here.
TILEPOST_INLINE void end_sources(HelperMemory /*notes*/, int /*parts*/) {}

// How many other ranks get the sum of a tile with sources.
TILEPOST_INLINE int num_pushes(const Tile& /*tile*/) {
  return 0;
}

// The tensor map for storing the sum of a tile on rank number `push` of those that get the sum. The
// coordinates are those of out_coord.
template <class Map>
TILEPOST_INLINE const Map* push_map(const Map* map, int /*push*/) {
  return map;
}

// Says that the calling thread, one of the CTA's `storers`, has completed all of its stores.
// `parts` is as for await_source. Woven, where finished tiles go to other ranks: the last thread of
// all CTAs announces to the other ranks that the tiles are there.
TILEPOST_INLINE void stores_done(const TileStores& /*stores*/, int /*storers*/, int /*parts*/) {}

// A tile is stored in `parts` parts. Waits until parts [first, first + count) of the tile's source
// `source` are there for TMA loads by the calling thread. `notes` is as for begin_sources.
TILEPOST_INLINE void await_source(const Tile& /*tile*/, int /*source*/, int /*first*/,
                                  int /*count*/, int /*parts*/, HelperMemory /*notes*/) {}

// The tensor map for loads from a source. The coordinates are those of out_coord.
template <class Map>
TILEPOST_INLINE const Map* source_map(const Map* map, int /*source*/) {
  return map;
}

// Says that the thread is about to issue one of several TMA stores of a tile. Woven, where the
// stores go to other ranks' memory: waits until the plan's time has passed since the store before,
// so that tiles leave evenly while the next ones are computed. `last_tile`: nothing is left to
// compute meanwhile.
TILEPOST_INLINE void pace(Pacer& /*pacer*/, const Tile& /*tile*/, bool /*last_tile*/) {}

// Says that the tile's rows of A are read from here on. Woven, where A arrives while the kernel
// runs: waits until these rows have arrived. A thread that keeps its BulkLoads does not wait twice
// for the same rows.
TILEPOST_INLINE void input_ready(const Tile& /*tile*/, BlockLoads) {}
TILEPOST_INLINE void input_ready(const Tile& /*tile*/, BulkLoads& /*loads*/) {}
TILEPOST_INLINE void input_ready(const Tile& /*tile*/, BulkLoads&& /*loads*/) {}

TILEPOST_INLINE void input_ready(const Tile& /*tile*/, HelpedLoads& /*loads*/) {}

// Whether input_ready would return at once for the tile, which must be the next one. If not, a
// kernel may load other operands first.
TILEPOST_INLINE bool input_has_come(const Tile& /*tile*/, const HelpedLoads& /*loads*/) {
  return true;
}

// The tensor map for loads of the tile's rows of A. `map` covers A. Woven, where A arrives while
// the kernel runs: the map of this rank's own rows, or of the memory where other rows arrive.
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

// The scales of A's blocks for the tile's rows, by row of A. `scales` has those of A. Woven, where
// A arrives while the kernel runs: those of this rank's own rows, or those that arrive with other
// rows. They are there when the rows are. `run` is BulkLoads::run of the thread that loads the
// rows.
TILEPOST_INLINE const float* in_scales(const float* scales, const Tile& /*tile*/,
                                       unsigned /*run*/) {
  return scales;
}
// The same for a thread that keeps its HelpedLoads, and for one that calls in_map without loads.
TILEPOST_INLINE const float* in_scales(const float* scales, const Tile& /*tile*/,
                                       const HelpedLoads& /*loads*/) {
  return scales;
}
TILEPOST_INLINE const float* in_scales(const float* scales, const Tile& /*tile*/) {
  return scales;
}

// One thread calls this before the first barrier of the CTA. `arrived` is a word of shared memory
// that the kernel itself does not use. Woven, where helper warps count in that word the tiles whose
// rows have arrived: sets the word to 0.
TILEPOST_INLINE void open_input(unsigned /*arrived*/) {}

// Says that the calling thread will load through in_map. Woven, where maps lie in global memory:
// executes the fence that TMA needs before it reads them (PTX ISA, fence.proxy.tensormap).
TILEPOST_INLINE void open_in_map() {}

// As open_in_map above, where the thread keeps its BulkLoads. In a kernel that is a whole run the
// thread also finds out which run it is.
TILEPOST_INLINE void open_in_map(BulkLoads& /*loads*/) {}

// Says that a warp of the CTA has nothing to do. All its lanes call this once, and no other warp
// does. `output` is the type of C, a constant. `storers` is as for open_out_maps. `finishers`, a
// constant, is how many warps of the CTA call finish_tasks, at most 15. `scales` are the scales of
// A's blocks if these move with rows of A. Woven, where other ranks' parts of C are to be added up
// or rows are to be moved: the warp does that while the kernel runs (device/tasks.cuh).
TILEPOST_INLINE void helper_warp(HelperMemory /*helper*/, DType /*output*/, int /*storers*/,
                                 int /*finishers*/ = 0, const float* /*scales*/ = nullptr) {}

// Says that warp `warp` of `finishers` has nothing left to multiply. All its lanes call this once.
// `helper` and `output` are as for helper_warp. Woven, where helper warps add up or move rows:
// helps with the last group, which would take one warp alone long.
TILEPOST_INLINE void finish_tasks(HelperMemory /*helper*/, DType /*output*/, int /*warp*/,
                                  int /*finishers*/) {}

// Says that the calling thread will store parts of tiles (few rows). Woven, where other ranks get
// these parts: finds out which run it is, and waits until the other ranks' memory may be written.
TILEPOST_INLINE void open_exchange(TileStores& /*stores*/) {}

// How many places a box of a tile goes to, and which place is number `place` of them. The box has
// `rows` rows of the tile from `row` on, and columns from `col` on. `map` covers the output. Woven,
// where other ranks get the tile: the places are in their memory.
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

// Says that the calling thread has committed all stores of a part: of rows [first, end) of the
// tile, which are number `part` among the parts of the whole schedule. Woven, where other ranks get
// the part: completes the stores and announces the part to these ranks.
TILEPOST_INLINE void part_stored(const TileStores& /*stores*/, const Tile& /*tile*/, int /*first*/,
                                 int /*end*/, int /*part*/) {}

// As part_stored above, where the part's elements lie at `panel`, in rows as long as a tile's.
template <class T>
TILEPOST_INLINE void part_stored(const TileStores& /*stores*/, const Tile& /*tile*/, int /*first*/,
                                 int /*end*/, int /*part*/, const T* /*panel*/) {}

// Says that `threads` threads of the CTA, in whole warps, have nothing to do. Each of them calls
// this once, and this one is number `thread`. `shape` is the kernel's. `output` is the type of C, a
// constant. `joining`, a constant, is how many threads of the CTA call finish_exchange. Woven,
// where ranks exchange tiles: adds up what has come of the CTA's parts (device/exchange.cuh).
template <class Shape>
TILEPOST_INLINE void exchange_tiles(const TileParts& /*parts*/, const TilePanels& /*panels*/,
                                    const Shape& /*shape*/, DType /*output*/, int /*thread*/,
                                    int /*threads*/, int /*joining*/ = 0) {}

// Says that threads, in whole warps, have nothing left to multiply. Each of them calls this once.
// Their numbers follow those of the threads that call exchange_tiles. The calling thread is number
// `thread`, and `threads` counts the threads of both calls. Woven, where the threads in
// exchange_tiles add up parts: joins them for the CTA's last part.
template <class Shape>
TILEPOST_INLINE void finish_exchange(const TileParts& /*parts*/, const TilePanels& /*panels*/,
                                     const Shape& /*shape*/, DType /*output*/, int /*thread*/,
                                     int /*threads*/) {}

// The threads that call exchange_tiles call this, too. `arrived` is as for open_input. Woven, where
// ranks exchange rows of A: stores some of this rank's rows in the memory of all ranks, and waits
// for the rows that the CTA's tiles need (device/exchange_rows.cuh). `scales` are the scales of A's
// blocks, as the kernel has them. They travel with the rows. A kernel without such scales calls
// without this argument.
template <class Shape>
TILEPOST_INLINE void exchange_rows(const TileParts& /*parts*/, const Shape& /*shape*/,
                                   unsigned /*arrived*/, int /*thread*/, int /*threads*/) {}
template <class Shape>
TILEPOST_INLINE void exchange_rows(const TileParts& /*parts*/, const Shape& /*shape*/,
                                   unsigned /*arrived*/, int /*thread*/, int /*threads*/,
                                   const float* /*scales*/) {}

// These two are for a thread that stands for a whole CTA and does everything in turn. The thread
// calls exchange_rows before its first tile, and exchange_tiles behind its last. `rows` is A, as
// the kernel has it, and `scales` is as above.
template <class Shape, class T>
TILEPOST_INLINE void exchange_rows(const TileParts& /*parts*/, const Shape& /*shape*/,
                                   const T* /*rows*/) {}
template <class Shape, class T>
TILEPOST_INLINE void exchange_rows(const TileParts& /*parts*/, const Shape& /*shape*/,
                                   const T* /*rows*/, const float* /*scales*/) {}
template <class Shape, class T>
TILEPOST_INLINE void exchange_tiles(const TileParts& /*parts*/, const Shape& /*shape*/,
                                    DType /*output*/, const T* /*rows*/) {}

// Says that every store of the tile has been issued. Woven: completes the stores and raises the
// group's counter, also for a padding tile. Where the stores went to another rank's memory, raises
// the counter there, and none for a padding tile, which no rank owns.
TILEPOST_INLINE void tile_done(const Tile& /*tile*/, BlockStores) {}
TILEPOST_INLINE void tile_done(const Tile& /*tile*/, WarpStores) {}
TILEPOST_INLINE void tile_done(const Tile& /*tile*/, BulkStores) {}

}  // namespace tilepost

#endif  // TILEPOST_MARK_CUH
