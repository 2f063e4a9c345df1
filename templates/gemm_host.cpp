// The host target's kernel: C[m, n] = A[m, k] * B, summed in fp32. B is [n, k], or [k, n] if NN.
//
// The kernel checks results where there is no GPU, so it is written to be obviously right. Every
// element is summed in fp32 in the order of k, goes through the epilogue and is rounded once. Each
// worker computes the positions worker, worker + workers, … of the schedule. Operands are widened
// to fp32 one panel of kTileK elements of K at a time, and take their blocks' scales. n is the
// innermost index of B's panel, so that the innermost loop runs along n without a stride.
#include <tilepost/host/block_scales.h>
#include <tilepost/host/box.h>
#include <tilepost/host/epilogue.h>
#include <tilepost/numeric.h>
#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

constexpr int kTileM = tilepost::tunable("TILE_M", 64);
constexpr int kTileN = tilepost::tunable("TILE_N", 64);
constexpr int kBand = tilepost::tunable("BAND", 8);
constexpr tilepost::DType kElement = tilepost::tunable("ELEMENT", tilepost::DType::bf16);
constexpr tilepost::DType kOutput = tilepost::tunable("OUTPUT", tilepost::DType::bf16);
constexpr int kEpilogue = tilepost::tunable("EPILOGUE", 0);   // a set of TILEPOST_SCALE …
constexpr int kScales = tilepost::tunable("SCALES", 0);       // of blocks: a ScalesTunable
constexpr bool kQuantise = tilepost::tunable("QUANTISE", 0);  // C, to 8 bits
constexpr bool kNN = tilepost::tunable("NN", 0);              // B is [k, n]
constexpr int kBoxM = tilepost::tunable("BOX_M", 0);          // rows of a box of C; 0 for no boxes
constexpr int kTileK = 64;

using Element = tilepost::HostElement<kElement>;
using Output = tilepost::HostElement<kOutput>;

// One worker's memory: the operands of the current panel and the tile's sums.
struct Workspace {
  float a[kTileM][kTileK];
  float b[kTileK][kTileN];
  float sum[kTileM][kTileN];
};

inline int smaller(int x, int y) {
  return x < y ? x : y;
}

// Widens `rows` x `depth` elements of A, beginning at `source`.
inline void load_a(Workspace& work, const Element* source, int ld, int rows, int depth) {
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < depth; ++k)
      work.a[row][k] = tilepost::to_float(source[static_cast<long long>(row) * ld + k]);
}

// Element (k, n) of B.
inline const Element& element_b(const Element* b, int ld, int k, int n) {
  if constexpr (kNN)
    return b[static_cast<long long>(k) * ld + n];
  else
    return b[static_cast<long long>(n) * ld + k];
}

// Widens `depth` x `cols` elements of B, beginning at (first_k, first_n). Columns beyond `cols`
// become 0.
inline void load_b(Workspace& work, const Element* b, int ld, int first_k, int first_n, int cols,
                   int depth) {
  for (int col = 0; col < kTileN; ++col)
    for (int k = 0; k < depth; ++k)
      work.b[k][col] =
          col < cols ? tilepost::to_float(element_b(b, ld, first_k + k, first_n + col)) : 0.0f;
}

// Adds the products of one panel to the sums. If the products of several k were added at a time,
// the order of additions would change. So the loop over columns is the one to vectorise.
inline void multiply_panel(Workspace& work, int rows, int depth) {
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < depth; ++k) {
      const float a = work.a[row][k];
      for (int col = 0; col < kTileN; ++col) work.sum[row][col] += a * work.b[k][col];
    }
}

// Computes the sums of one tile, of which `rows` x `cols` elements lie inside the output. With
// SCALES the blocks of A and B have scales.
inline void compute_tile(Workspace& work, const Element* a, const Element* b,
                         const tilepost_shape_t& shape, [[maybe_unused]] const float* scale_a,
                         [[maybe_unused]] const float* scale_b, const tilepost::Tile& tile,
                         int rows, int cols) {
  a += static_cast<long long>(tile.m) * shape.lda;
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < kTileN; ++col) work.sum[row][col] = 0.0f;
  for (int k = 0; k < shape.k; k += kTileK) {
    const int depth = smaller(kTileK, shape.k - k);
    load_a(work, a + k, shape.lda, rows, depth);
    load_b(work, b, shape.ldb, k, tile.n, cols, depth);
    if constexpr (kScales != 0)
      tilepost::scale_panel<kScales>(work, shape, scale_a, scale_b, tile, k, rows, cols, depth);
    multiply_panel(work, rows, depth);
  }
}

// Rounds and stores the sums of one tile.
inline void store_tile(const Workspace& work, Output* c, const tilepost::TileGrid& grid,
                       const tilepost::Tile& tile, const tilepost_shape_t& shape,
                       const tilepost_epilogue_t& epilogue, int rows, int cols) {
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col) {
      const float x = tilepost::epilogue::finish<kEpilogue, kOutput>(
          epilogue, work.sum[row][col], tile.m + row, tile.n + col, shape.n);
      tilepost::out(c, grid, tile, row, col, shape.ldc) = tilepost::from_float<Output>(x);
    }
}

// Quantises and stores the sums of one tile, whose columns are whole blocks of C, or C's last ones.
inline void store_quantised(Workspace& work, tilepost::E4m3* c, const tilepost::TileGrid& grid,
                            const tilepost::Tile& tile, const tilepost_shape_t& shape,
                            const tilepost_epilogue_t& epilogue, int rows, int cols) {
  constexpr int kBlock = TILEPOST_SCALE_BLOCK;
  static_assert(!kQuantise || kTileN % kBlock == 0);
  for (int row = 0; row < rows; ++row)
    for (int first = 0; first < cols; first += kBlock) {
      const int end = smaller(cols, first + kBlock);
      float* const sums = work.sum[row];
      for (int col = first; col < end; ++col)
        sums[col] = tilepost::epilogue::finish<kEpilogue, kOutput>(
            epilogue, sums[col], tile.m + row, tile.n + col, shape.n);
      const float scale = tilepost::scale_of_block(sums + first, end - first);
      for (int col = first; col < end; ++col)
        tilepost::out(c, grid, tile, row, col, shape.ldc) = tilepost::quantise(sums[col], scale);
      tilepost::store_scale(epilogue, tile.m + row, tile.n + first, scale);
    }
}

// Rounds and stores the sums of one tile whose rows other ranks may get. Every box goes to each
// rank that gets any of the box's rows.
inline void store_boxes(const Workspace& work, Output* c, const tilepost::TileGrid& grid,
                        const tilepost::Tile& tile, const tilepost_shape_t& shape,
                        const tilepost_epilogue_t& epilogue, const tilepost::TileStores& stores,
                        int part) {
  Output panel[kTileM * kTileN] = {};
  for (int row = 0; row < smaller(kTileM, shape.m - tile.m); ++row)
    for (int col = 0; col < smaller(kTileN, shape.n - tile.n); ++col)
      panel[row * kTileN + col] =
          tilepost::from_float<Output>(tilepost::epilogue::finish<kEpilogue, kOutput>(
              epilogue, work.sum[row][col], tile.m + row, tile.n + col, shape.n));
  const tilepost::HostRows out{c, shape.m, shape.n, shape.ldc};
  for (int row = 0; row < kTileM; row += kBoxM) {
    const int places = tilepost::num_places(stores, tile, row, kBoxM);
    for (int place = 0; place < places; ++place) {
      const auto to = tilepost::out_place(stores, &out, grid, tile, row, kBoxM, 0, place);
      tilepost::store_box(*to.map, panel + row * kTileN, kBoxM, kTileN, to.x, to.y);
    }
  }
  tilepost::part_stored(stores, tile, 0, kTileM, part, panel);
}

// The parts of tiles that a worker computes. Each part is a whole tile.
inline tilepost::TileParts parts_of(const tilepost::TileGrid& grid, int worker, int workers) {
  return {worker, workers, tilepost::num_tiles(grid), 1, kBoxM, {0, 0, kTileM, kTileN}};
}

void gemm_host(const void* a, const void* b, void* c, tilepost_shape_t shape,
               tilepost_epilogue_t epilogue, int worker, int workers) {
  const tilepost::TileGrid grid{
      (shape.m + kTileM - 1) / kTileM, (shape.n + kTileN - 1) / kTileN, kTileM, kTileN, 1, kBand};
  tilepost::TileStores stores;
  if constexpr (kBoxM > 0) {
    const Element* own = static_cast<const Element*>(a);
    if constexpr (kScales != 0)
      tilepost::exchange_rows(parts_of(grid, worker, workers), shape, own, epilogue.scale_a);
    else
      tilepost::exchange_rows(parts_of(grid, worker, workers), shape, own);
    tilepost::open_exchange(stores);
  }
  Workspace work{};
  for (int position = worker; position < tilepost::num_tiles(grid); position += workers) {
    const tilepost::Tile tile = tilepost::tile(grid, position);
    if (!tile.is_padding()) {
      tilepost::input_ready(tile, tilepost::BlockLoads{});
      const int rows = smaller(kTileM, shape.m - tile.m);
      const int cols = smaller(kTileN, shape.n - tile.n);
      const Element* from = static_cast<const Element*>(a);
      const float* scale_a = epilogue.scale_a;
      if constexpr (kBoxM > 0) {
        from = tilepost::in_map(from, tile);
        scale_a = tilepost::in_scales(scale_a, tile);
      }
      compute_tile(work, from, static_cast<const Element*>(b), shape, scale_a, epilogue.scale_b,
                   tile, rows, cols);
      if constexpr (kQuantise)
        store_quantised(work, static_cast<tilepost::E4m3*>(c), grid, tile, shape, epilogue, rows,
                        cols);
      else if constexpr (kBoxM > 0)
        store_boxes(work, static_cast<Output*>(c), grid, tile, shape, epilogue, stores, position);
      else
        store_tile(work, static_cast<Output*>(c), grid, tile, shape, epilogue, rows, cols);
    }
    tilepost::tile_done(tile, tilepost::BlockStores{});
  }
  if constexpr (kBoxM > 0)
    tilepost::exchange_tiles(parts_of(grid, worker, workers), shape, kOutput,
                             static_cast<const Element*>(a));
}
