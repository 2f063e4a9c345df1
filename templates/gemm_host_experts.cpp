// The host target's grouped GEMM: rows of A are sorted by expert, and each expert multiplies its
// rows by a B of its own, [rows of B, k], or [k, rows of B] if NN. With an operation that combines
// gate and up an expert's B has two rows for each column of the output. If GATHERS, rows are those
// of tokens, which lie elsewhere in A, and their tiles come in the order of a list.
//
// The kernel checks results where there is no GPU, so it is written to be obviously right. Every
// element is summed in fp32 in the order of k, goes through the epilogue and is rounded once. Tiles
// are those of the GPU's kernel: both compute them with the same code. Each worker computes the
// positions worker, worker + workers, …
#include <tilepost/host/expert_epilogue.h>
#include <tilepost/internal/token_tiles.h>
#include <tilepost/numeric.h>
#include <tilepost/plan.h>
#include <tilepost/mark.cuh>

constexpr int kTileM = tilepost::tunable("TILE_M", 64);
constexpr int kTileN = tilepost::tunable("TILE_N", 64);
constexpr int kBand = tilepost::tunable("BAND", 8);
constexpr tilepost::DType kElement = tilepost::tunable("ELEMENT", tilepost::DType::bf16);
constexpr tilepost::DType kOutput = tilepost::tunable("OUTPUT", tilepost::DType::bf16);
constexpr int kEpilogue = tilepost::tunable("EPILOGUE", 0);         // a set of TILEPOST_SCALE …
constexpr bool kNN = tilepost::tunable("NN", 0);                    // B is [k, rows of B]
constexpr bool kInterleaved = tilepost::tunable("INTERLEAVED", 0);  // tilepost_gate_t
constexpr bool kGathers = tilepost::tunable("GATHERS", 0);          // rows are those of tokens
constexpr bool kGated = tilepost::combines_gate(kEpilogue);

using Element = tilepost::HostElement<kElement>;
using Output = tilepost::HostElement<kOutput>;

// How many tile rows, and how many rows, the experts before each expert have.
struct Table {
  const tilepost::Experts& of;
  int m;

  int rows(int expert) const { return expert == 0 ? 0 : of.end(expert - 1, m); }
  int tile_rows(int expert) const {
    int sum = 0;
    for (int e = 0; e < expert; ++e) {
      const int count = rows(e + 1) - rows(e);
      sum += count > 0 ? tilepost::count_tile_rows(count, kTileM) : 0;
    }
    return sum;
  }
};

// The entries of the list of tile rows.
struct Entries {
  const tilepost_token_tile_t* list;

  tilepost_token_tile_t operator()(int index) const { return list[1 + index]; }
};

// Row `row` of the rows that are sorted by expert.
const Element* row_of_a(const Element* a, const tilepost::Experts& experts, int lda, int row) {
  if constexpr (!kGathers) return a + static_cast<long long>(row) * lda;
  const tilepost::TokenPlace place =
      tilepost::place_of_token(experts.tokens[row], experts.most_tokens);
  const long long gathered = static_cast<long long>(place.rank) * experts.token_rows + place.token;
  return a + gathered * lda;
}

// What all elements of a tile need.
struct Operands {
  const tilepost::Experts& experts;
  const Element* a;
  const Element* b;
  const tilepost_shape_t& shape;
  const tilepost_epilogue_t& epilogue;
  int expert;

  // The rows of an expert's B.
  int rows_of_b() const { return kGated ? 2 * shape.n : shape.n; }

  // Element `at_k` of row `row` of the expert's B.
  float element_b(int row, int at_k) const {
    const long long rows = rows_of_b();
    const Element* const own = b + expert * rows * shape.k;
    return tilepost::to_float(kNN ? own[at_k * rows + row]
                                  : own[static_cast<long long>(row) * shape.k + at_k]);
  }

  // The product of row `row` of A and row `row_of_b` of the expert's B, with scales and bias.
  float product(int row, int row_of_b) const {
    const Element* const own = row_of_a(a, experts, shape.lda, row);
    float sum = 0;
    for (int k = 0; k < shape.k; ++k) sum += tilepost::to_float(own[k]) * element_b(row_of_b, k);
    return tilepost::epilogue::finish<kEpilogue, kOutput>(epilogue, sum, row,
                                                          expert * rows_of_b() + row_of_b, shape.n);
  }

  float element(int row, int column) const {
    if constexpr (!kGated) return product(row, column);
    const int gate = tilepost::row_of_part(kInterleaved, shape.n, column, 0);
    const int up = tilepost::row_of_part(kInterleaved, shape.n, column, 1);
    return tilepost::epilogue::combine<kEpilogue>(product(row, gate), product(row, up));
  }
};

void gemm_host_experts(const void* a, const void* b, void* c, tilepost_shape_t shape,
                       tilepost_epilogue_t epilogue, int worker, int workers) {
  const tilepost::Experts experts = tilepost::experts();
  const Table table{experts, shape.m};
  const tilepost::ExpertGrid grid{experts.count, (shape.n + kTileN - 1) / kTileN, kTileM, kBand};
  const int tile_rows = kGathers ? experts.tiles->row : table.tile_rows(experts.count);
  const int tiles = tile_rows * grid.columns;
  for (int position = worker; position < tiles; position += workers) {
    const tilepost::ExpertTile tile =
        kGathers ? tilepost::token_tile(grid, tile_rows, Entries{experts.tiles}, position)
                 : tilepost::expert_tile(grid, table, position);
    const int first = tile.column * kTileN;
    const int end = first + kTileN < shape.n ? first + kTileN : shape.n;
    const tilepost::Tile place{tile.row, first, tile.row, tile.group};
    const Operands operands{
        experts,    static_cast<const Element*>(a), static_cast<const Element*>(b), shape, epilogue,
        tile.expert};
    if constexpr (kGathers) tilepost::input_ready(place, tilepost::BlockLoads{});
    for (int row = 0; row < tile.rows; ++row)
      for (int column = first; column < end; ++column)
        tilepost::out(static_cast<Output*>(c), tilepost::TileGrid{}, place, row, column - first,
                      shape.ldc) =
            tilepost::from_float<Output>(operands.element(tile.row + row, column));
    tilepost::tile_done(place, tilepost::BlockStores{});
  }
}
