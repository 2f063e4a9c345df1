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
enum class DType { bf16, f16, e4m3 };

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
struct BulkStores {};   // bulk-group stores issued by the calling thread, which alone calls

// Which loads input_ready has to let wait.
struct BlockLoads {};  // ordinary and asynchronous copies by all threads of the block; all call
struct BulkLoads {};   // TMA loads by the calling thread, which alone calls

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

// The same place for a TMA store whose tensor map covers the output.
TILEPOST_INLINE Coord out_coord(const TileGrid& /*grid*/, const Tile& tile, int row, int col) {
  return Coord{tile.n + col, tile.row + row};
}

// The tile's rows of A are read from here on. Woven where A arrives while the kernel runs: waits
// until they have.
TILEPOST_INLINE void input_ready(const Tile& /*tile*/, BlockLoads) {}
TILEPOST_INLINE void input_ready(const Tile& /*tile*/, BulkLoads) {}

// Every store of the tile has been issued. Woven: completes them and raises the group's counter,
// also for a padding tile.
TILEPOST_INLINE void tile_done(const Tile& /*tile*/, BlockStores) {}
TILEPOST_INLINE void tile_done(const Tile& /*tile*/, WarpStores) {}
TILEPOST_INLINE void tile_done(const Tile& /*tile*/, BulkStores) {}

}  // namespace tilepost

#endif  // TILEPOST_MARK_CUH
