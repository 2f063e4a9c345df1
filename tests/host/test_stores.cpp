// A kernel that by itself stores into the memory of the ranks that own its rows: which elements go
// where, that nothing else is written, and what is signalled. All small shapes are checked against
// sizes that are computed here.
#include <random>

#include "runtime/map/tile_map.h"
#include "tests/catch.h"
#include "tests/host/hand_woven.h"

namespace {

using tilepost::Bf16;

constexpr int kTileM = 4, kTileN = 8, kK = 3;
constexpr uint16_t kPoison = 0x5a5a;

int ceil_div(int a, int b) {
  return (a + b - 1) / b;
}

struct Shape {
  int m, n, ranks, cluster;
  std::vector<int32_t> cuts;

  int share() const { return ceil_div(m, ranks); }
  int first_row(int rank) const { return std::min(rank * share(), m); }
  int rows(int rank) const { return std::min(m, (rank + 1) * share()) - first_row(rank); }

  tilepost_map_t map(tilepost_division_t division) const {
    tilepost_map_t map{};
    map.m = m;
    map.n = n;
    map.tile_m = kTileM;
    map.tile_n = kTileN;
    map.cluster = map.band = cluster;
    map.signals_per_tile = 1;
    map.layout = TILEPOST_PANEL;
    map.division = division;
    map.ranks = division == TILEPOST_DIVISION_SHARES ? ranks : 1;
    map.num_groups = static_cast<int32_t>(cuts.size());
    map.cuts = cuts.data();
    return map;
  }
};

// Memory of a rank that owns rows: its rows of the output, with room behind them that must stay as
// it is, and counters.
struct Owner {
  std::vector<Bf16> out;
  std::vector<uint32_t> counters;
};

struct Product {
  std::vector<Bf16> a, b;

  Product(const Shape& shape, std::mt19937& random) : a(shape.m * kK), b(shape.n * kK) {
    for (auto* operand : {&a, &b})
      for (Bf16& x : *operand) x = tilepost::from_float<Bf16>(static_cast<int>(random() % 7) - 3);
  }
  float at(int row, int col) const {
    float sum = 0;
    for (int k = 0; k < kK; ++k)
      sum += tilepost::to_float(a[row * kK + k]) * tilepost::to_float(b[col * kK + k]);
    return sum;
  }
};

// Runs the kernel on two workers. Owner q has `rows[q]` rows.
std::vector<Owner> run(const Shape& shape, const tilepost_map_t& map, int share_rows,
                       const std::vector<int>& rows, const Product& product) {
  std::vector<Owner> owners(rows.size());
  std::vector<void*> outs;
  std::vector<uint32_t*> counters;
  for (size_t q = 0; q < owners.size(); ++q) {
    owners[q].out.assign((rows[q] + kTileM) * shape.n, Bf16{kPoison});
    owners[q].counters.assign(shape.cuts.size() * TILEPOST_COUNTER_STRIDE, 0);
    outs.push_back(owners[q].out.data());
    counters.push_back(owners[q].counters.data());
  }
  const tilepost::TileMap tiles = tilepost::build_tile_map(map);
  tilepost_view_t view{};
  view.tiles = tiles.tiles.data();
  view.num_tiles = static_cast<int32_t>(tiles.tiles.size());
  view.tiles_n = tilepost::tiles_n(map);
  view.share_rows = share_rows;
  view.share_tiles = ceil_div(shape.share(), kTileM);
  view.peer_out = outs.data();
  view.peer_counters = counters.data();
  const tilepost_shape_t sizes{shape.m, shape.n, kK, kK, kK, shape.n};
  for (int worker = 0; worker < 2; ++worker)
    hand_woven::kernel<tilepost::Layout::panel, kTileM, kTileN, Bf16, hand_woven::Fault::none,
                       false, false, true>(product.a.data(), product.b.data(), nullptr, sizes, {},
                                           worker, 2, view);
  return owners;
}

// How many elements of an owner's memory are wrong. It must have its rows, from `first_row` of the
// product on, and poison behind them.
int count_wrong(const Owner& owner, const Shape& shape, int first_row, int rows,
                const Product& product) {
  int wrong = 0;
  for (int i = 0; i < static_cast<int>(owner.out.size()); ++i) {
    const int row = i / shape.n;
    wrong += row < rows
                 ? tilepost::to_float(owner.out[i]) != product.at(first_row + row, i % shape.n)
                 : owner.out[i].bits != kPoison;
  }
  return wrong;
}

void check_shape(const Shape& shape, std::mt19937& random) {
  INFO("m " << shape.m << " n " << shape.n << " ranks " << shape.ranks << " cluster "
            << shape.cluster << " groups " << shape.cuts.size());
  const Product product(shape, random);
  std::vector<int> rows;
  for (int q = 0; q < shape.ranks; ++q) rows.push_back(std::max(0, shape.rows(q)));
  const auto owners = run(shape, shape.map(TILEPOST_DIVISION_SHARES), shape.share(), rows, product);
  for (int q = 0; q < shape.ranks; ++q) {
    REQUIRE(count_wrong(owners[q], shape, shape.first_row(q), rows[q], product) == 0);
    std::vector<uint32_t> expected(owners[q].counters.size(), 0);
    int first = 0;
    for (size_t g = 0; g < shape.cuts.size(); first = shape.cuts[g++])
      for (int t = first; t < shape.cuts[g]; ++t)
        if (t * kTileM < rows[q])
          expected[g * TILEPOST_COUNTER_STRIDE] += ceil_div(shape.n, kTileN);
    REQUIRE(owners[q].counters == expected);
  }
}

}  // namespace

TEST_CASE("every element is stored once where its owner has it, and every tile signalled there") {
  std::mt19937 random(5);
  for (int ranks = 1; ranks <= 4; ++ranks)
    for (int cluster = 1; cluster <= 4; cluster *= 2)
      for (const int n : {1, 8, 20})
        for (int m = 1; m <= 50; ++m) {
          const int tiles = ceil_div(ceil_div(m, ranks), kTileM);
          check_shape({m, n, ranks, cluster, {tiles}}, random);
          if (tiles > 1) check_shape({m, n, ranks, cluster, {tiles / 2, tiles}}, random);
        }
}

TEST_CASE("rows that nobody divides are all the first owner's") {
  std::mt19937 random(7);
  for (int m = 1; m <= 30; ++m) {
    const Shape shape{m, 20, 3, 2, {ceil_div(m, kTileM)}};
    const Product product(shape, random);
    const auto owners = run(shape, shape.map(TILEPOST_DIVISION_ROWS), INT32_MAX, {m}, product);
    REQUIRE(count_wrong(owners[0], shape, 0, m, product) == 0);
    REQUIRE(owners[0].counters[0] == static_cast<uint32_t>(ceil_div(m, kTileM) * 3));
  }
}

TEST_CASE("elements and coordinates of the whole output lie with their owners") {
  constexpr int kShare = 6, kColumns = 5;
  std::vector<Bf16> memory(2 * kShare * kColumns);
  void* outs[] = {memory.data() + kShare * kColumns, memory.data()};
  hand_woven::View<tilepost::Layout::panel, kTileM, kTileN, false, false, true> view{};
  view.share_rows = kShare;
  view.peer_out = outs;
  for (int row = 0; row < 2 * kShare; ++row)
    for (int col = 0; col < kColumns; ++col) {
      const int line = row < kShare ? kShare + row : row - kShare;
      CHECK(&tilepost::woven::out(view, memory.data(), row, col, kColumns) ==
            &memory[line * kColumns + col]);
    }
  const tilepost::Coord at =
      tilepost::woven::out_coord(view, {}, tilepost::Tile{kShare + 4, 8, 0, 0}, 1, 2);
  CHECK(at.x == 10);
  CHECK(at.y == 5);
}
