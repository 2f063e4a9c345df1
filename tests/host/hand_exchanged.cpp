#include "tests/host/hand_exchanged.h"

#include <type_traits>
#include <vector>

#include "tests/host/problem.h"

namespace hand_exchanged {
namespace {

using tilepost::Tile;
using tilepost::TileStores;
namespace woven = tilepost::woven;

constexpr int kM = Problem::kTileM, kN = Problem::kTileN;

Fault fault_of(const tilepost_exchange_t& exchange) {
  return exchange.ranks != 0 && exchange.rank == 0 ? fault.load() : Fault::none;
}

// The view that the generator would write.
template <tilepost_pattern_t pattern, int shots, int ranks>
struct View : woven::View {
  static constexpr int kTileM = kM, kTileN = kN;
  static constexpr bool kGathers = pattern == TILEPOST_ALL_GATHER_GEMM;
  static constexpr bool kWaits = kGathers, kRaises = false;
  static constexpr int kShots = kGathers ? 0 : shots, kRanks = ranks;
  static constexpr bool kScatters =
      pattern == TILEPOST_GEMM_REDUCE_SCATTER || pattern == TILEPOST_GEMM_ALL_TO_ALL;
  static constexpr bool kSums = pattern != TILEPOST_GEMM_ALL_TO_ALL;
};

// A view with a fault: waits ask for the run before, or odd runs use the buffers of even runs.
template <class View>
class Changed {
 public:
  explicit Changed(const View& view) : view_(view) {
    tilepost_exchange_t& exchange = view_.exchange;
    const Fault what = exchange.ranks != 0 ? fault.load() : Fault::none;
    if (what == Fault::wrong_run && exchange.rank == 0) {
      run_[0] = exchange.run[0] - 1;
      awaited_ = run_;
    } else if (what == Fault::one_buffer && (woven::run_of(exchange) & 1) != 0) {
      const int64_t back = exchange.slot_bytes * (View::kGathers ? 1 : View::kRanks);
      exchange.slots -= back;
      if (View::kGathers) return;
      const auto* rows = static_cast<const tilepost::HostRows*>(exchange.slot_maps);
      rows_.assign(rows, rows + 2 * View::kRanks);
      for (tilepost::HostRows& slot : rows_) slot.base = static_cast<char*>(slot.base) - back;
      exchange.slot_maps = rows_.data();
    }
  }
  const View& stores() const { return view_; }
  // The view for waits for other ranks.
  View waits() const {
    View view = view_;
    if (awaited_ != nullptr) view.exchange.run = const_cast<uint32_t*>(awaited_);
    return view;
  }

 private:
  View view_;
  std::vector<tilepost::HostRows> rows_;
  uint32_t run_[4] = {};
  const uint32_t* awaited_ = nullptr;
};

template <class View, class T, int kBox>
void store(const View& view, const TileStores& stores, T* c, const tilepost::TileGrid& grid,
           const Tile& tile, const std::vector<float>& sums, const tilepost_shape_t& shape,
           int position) {
  T panel[kM * kN];
  for (int i = 0; i < kM * kN; ++i)
    panel[i] = tilepost::from_float<T>(sums[static_cast<size_t>(i)]);
  const Fault what = fault_of(view.exchange);
  const bool faulty = position == view.num_tiles - 1;
  const auto tell = [&] { woven::part_stored(view, stores, tile, 0, kM, position, panel); };
  if (faulty && what == Fault::early_flag) {
    tell();
    std::this_thread::sleep_for(hand_woven::kSleep);
  }
  const tilepost::HostRows out{c, shape.m, shape.n, shape.ldc};
  for (int row = 0; row < kM; row += kBox)
    for (int place = 0; place < woven::num_places(view, stores, tile, row, kBox); ++place) {
      const auto to = woven::out_place(view, stores, &out, grid, tile, row, kBox, 0, place);
      tilepost::store_box(*to.map, panel + row * kN, kBox, kN, to.x, to.y);
    }
  if (!faulty || (what != Fault::early_flag && what != Fault::missing_flag)) tell();
}

// A tilepost_host_kernel_t.
template <class View, class T, int kBox>
void kernel(const void* a, const void* b, void* c, tilepost_shape_t shape,
            tilepost_epilogue_t /*epilogue*/, int worker, int workers, tilepost_view_t plain) {
  if (plain.exchange.ranks != 0 && worker == 0) last[plain.exchange.rank] = plain.exchange;
  const Changed<View> changed(View{{plain}});
  const View& view = changed.stores();
  const View awaiting = changed.waits();
  const tilepost::TileGrid grid{(shape.m + kM - 1) / kM, (shape.n + kN - 1) / kN, kM, kN, 1, 1};
  const auto* const rows = static_cast<const T*>(a);
  const tilepost::TileParts parts{worker, workers, view.num_tiles, 1, kBox, {0, 0, kM, kN}};
  const Fault what = fault_of(view.exchange);
  if (!View::kGathers || what != Fault::missing_flag)
    woven::exchange_rows(view, parts, shape, rows);
  TileStores stores;
  woven::open_exchange(view, stores);
  for (int position = worker; position < view.num_tiles; position += workers) {
    const Tile tile = woven::tile(view, grid, position);
    if (tile.is_padding()) {
      woven::tile_done(view, tile, tilepost::BlockStores{});
      continue;
    }
    woven::input_ready(awaiting, tile, tilepost::BlockLoads{});
    if (View::kGathers && what == Fault::one_buffer && position == worker)
      std::this_thread::sleep_for(hand_woven::kSleep);
    const std::vector<float> sums = hand_woven::tile_sums(
        woven::in_map(awaiting, rows, tile), static_cast<const T*>(b), grid, tile, shape);
    store<View, T, kBox>(view, stores, static_cast<T*>(c), grid, tile, sums, shape, position);
    woven::tile_done(view, tile, tilepost::BlockStores{});
  }
  if (what == Fault::one_buffer) std::this_thread::sleep_for(hand_woven::kSleep);
  woven::exchange_tiles(
      awaiting, parts, shape,
      std::is_same_v<T, tilepost::Bf16> ? tilepost::DType::bf16 : tilepost::DType::f16, rows);
}

template <tilepost_pattern_t pattern, int shots, int ranks, class T>
tilepost_host_kernel_t of() {
  // Shares end in small boxes. In two shots ranks take turns at such boxes.
  constexpr bool whole = pattern == TILEPOST_ALL_GATHER_GEMM || pattern == TILEPOST_GEMM_ALL_REDUCE;
  return kernel < View<pattern, shots, ranks>, T,
         whole && shots != TILEPOST_TWO_SHOT ? kM : kM / 2 >
      ;
}

template <int ranks, class T>
tilepost_host_kernel_t of_ranks(const Problem& problem) {
  constexpr int kOne = TILEPOST_ONE_SHOT, kTwo = TILEPOST_TWO_SHOT,
                kLines = TILEPOST_ONE_SHOT_LINES;
  const bool lines = problem.shots == kLines;
  switch (problem.pattern) {
    case TILEPOST_GEMM_REDUCE_SCATTER:
      return lines ? of<TILEPOST_GEMM_REDUCE_SCATTER, kLines, ranks, T>()
                   : of<TILEPOST_GEMM_REDUCE_SCATTER, kOne, ranks, T>();
    case TILEPOST_GEMM_ALL_TO_ALL:
      return lines ? of<TILEPOST_GEMM_ALL_TO_ALL, kLines, ranks, T>()
                   : of<TILEPOST_GEMM_ALL_TO_ALL, kOne, ranks, T>();
    case TILEPOST_ALL_GATHER_GEMM:
      return of<TILEPOST_ALL_GATHER_GEMM, kOne, ranks, T>();
    default:
      break;
  }
  if (problem.shots == kTwo) return of<TILEPOST_GEMM_ALL_REDUCE, kTwo, ranks, T>();
  return lines ? of<TILEPOST_GEMM_ALL_REDUCE, kLines, ranks, T>()
               : of<TILEPOST_GEMM_ALL_REDUCE, kOne, ranks, T>();
}

template <class T>
tilepost_host_kernel_t of_type(const Problem& problem) {
  switch (problem.ranks) {
    case 2:
      return of_ranks<2, T>(problem);
    case 3:
      return of_ranks<3, T>(problem);
    case 4:
      return of_ranks<4, T>(problem);
    case 8:
      return of_ranks<8, T>(problem);
    default:
      return nullptr;
  }
}

}  // namespace

tilepost_host_kernel_t choose(const Problem& problem) {
  return problem.type == TILEPOST_BF16 ? of_type<tilepost::Bf16>(problem)
                                       : of_type<tilepost::F16>(problem);
}

int box_rows(const Problem& problem) {
  const bool whole = problem.row().moves_input() || problem.row().product_spreads();
  return whole && problem.shots != TILEPOST_TWO_SHOT ? kM : kM / 2;
}

}  // namespace hand_exchanged
