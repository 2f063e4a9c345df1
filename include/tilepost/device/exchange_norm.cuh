// How kernels that exchange tiles (exchange.cuh) normalise the rows whose sums this rank gets
// (TILEPOST_CONSUMER_RMS_NORM and TILEPOST_CONSUMER_RESIDUAL_RMS_NORM): no kernel comes behind
// them.
//
// A norm needs a whole row, and a CTA's tiles have only a part of each row. So the rows are divided
// among the CTAs of the grid anew, and the helper warps of one CTA take the whole of a row,
// wherever its parts come from. In one shot they add up what all ranks have stored of the row here.
// In two shots they take its sums, which have landed here. They wait for the flags of all parts
// that have columns of the row, or for the row's lines, and for nothing else: the CTAs of a rank
// need not meet.
//
// A CTA begins with its rows when its lines are stored or its parts are summed. Other CTAs wait for
// nothing else of this CTA. Storing lines and summing parts wait for no normalised row. So every
// wait for a row ends.
#ifndef TILEPOST_DEVICE_EXCHANGE_NORM_CUH
#define TILEPOST_DEVICE_EXCHANGE_NORM_CUH

#include <cstdint>

#include "tilepost/device/exchange_lines.cuh"
#include "tilepost/device/exchange_parts.cuh"
#include "tilepost/device/norm.cuh"
#include "tilepost/device/ptx.cuh"

namespace tilepost::woven {

// ---- Where a row is

// How many loads of sixteen bytes a thread has under way. Kernels of wide tiles have fewer
// registers left.
template <class View>
constexpr int kLoadsAtOnce = View::kTileN > 64 ? 8 : 16;
template <class View>
constexpr int kRanksAtOnce =  // vectors that a thread loads from every rank at once
    kLoadsAtOnce<View> < View::kRanks ? 1 : kLoadsAtOnce<View> / View::kRanks;

// Where a row of the product lies in every column of tiles: in which part, counted down the column,
// and in which row of that part.
struct RowPlace {
  int part, row;
};
template <class View>
__device__ __forceinline__ RowPlace place_of_row(int row, int per_tile) {
  constexpr int kUnitRows = 8, kUnits = View::kTileM / kUnitRows;  // as SplitK divides them
  const int part = exchange_part(row, View::kTileM, per_tile);
  return {part, row % View::kTileM - part % per_tile * kUnits / per_tile * kUnitRows};
}

// ---- Waiting for a row

// One thread. Waits until all ranks have raised their flags of a part, as await() does for one
// flag. Each poll loads all of them together. None of these loads acquires.
template <int kRanks>
__device__ __forceinline__ bool await_flags(const tilepost_exchange_t& exchange,
                                            const uint32_t* flags, uint32_t run) {
  constexpr int kPollsPerCheck = 4096;
  Patience patience;
  for (int polls = 1;; ++polls) {
    uint32_t missing = 0;
#pragma unroll
    for (int rank = 0; rank < kRanks; ++rank) missing |= ptx::load_relaxed_sys(flags + rank) ^ run;
    if (missing == 0) break;
    if (polls % kPollsPerCheck != 0) continue;
    patience = look_up(exchange, run, exchange.arrived_wait, patience);
    if (patience.over) return false;
  }
  if (patience.told) *static_cast<volatile uint32_t*>(exchange.arrived_wait) = 0;
  return true;
}

// All helper threads. Waits until all parts that have columns of a row are there, from all ranks.
// In two shots waits for the row's sums, which `owner` stores. Returns false, to all threads, if
// the wait was given up. Each thread waits for some of the parts. The fence behind its polls makes
// each of them an acquire (PTX ISA 8.8, Release and Acquire Patterns). The barrier orders what a
// thread has acquired before what the others load (PTX ISA, barrier; 8.9.5).
template <class View>
__device__ __forceinline__ bool await_row(const View& view, const Helper& helper,
                                          const RowPlace& place, int per_tile, int owner) {
  const tilepost_exchange_t& exchange = view.exchange;
  constexpr bool kTwice = View::kShots == TILEPOST_TWO_SHOT;
  bool missing = false;
#pragma unroll 1
  for (int column = helper.thread; !missing && column < view.tiles_n; column += helper.threads) {
    const uint32_t* const flags =
        exchange_flags(exchange, exchange.rank, helper.run, kTwice ? 1 : 0,
                       part_in_column(view, view.positions + column, place.part, per_tile));
    if constexpr (kTwice)
      missing = !await(exchange, flags + owner, helper.run, exchange.arrived_wait,
                       [&](uint32_t value) { return value == helper.run; });
    else
      missing = !await_flags<View::kRanks>(exchange, flags, helper.run);
  }
  if constexpr (!kTwice) ptx::fence_sys();
  return !sync_helpers_any(helper, missing);
}

// ---- The sums of a row, sixteen bytes at a time

// One shot: the parts of a row, in this rank's slots, which are added up as they are loaded. `row`
// is the row's place in the first slot.
template <class View, DType kType>
struct SlotSums {
  const void* row;
  int64_t slot_bytes;

  template <int kCount>
  __device__ __forceinline__ void load(const int (&vectors)[kCount], uint4 (&sums)[kCount]) const {
    uint4 parts[kCount][View::kRanks];
#pragma unroll
    for (int i = 0; i < kCount; ++i)
#pragma unroll
      for (int rank = 0; rank < View::kRanks; ++rank)
        parts[i][rank] = reinterpret_cast<const uint4*>(static_cast<const char*>(row) +
                                                        rank * slot_bytes)[vectors[i]];
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[i] = add_vectors<kType>(parts[i]);
  }
};

// The sums of a row in one place, in shared or global memory.
struct StoredSums {
  const void* row;

  template <int kCount>
  __device__ __forceinline__ void load(const int (&vectors)[kCount], uint4 (&sums)[kCount]) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[i] = static_cast<const uint4*>(row)[vectors[i]];
  }
};

// All helper threads. Lines: adds up the lines of a row, to `sums`. `rows_before` is the number of
// rows of the part that lie in front of those that this rank gets. Where a thread has fewer lines
// left than it loads at once, it loads the first of them again. Returns false, to all threads, if
// any wait was given up.
template <class View, DType kType>
__device__ __forceinline__ bool add_row_of_lines(const View& view, const Helper& helper,
                                                 const RowPlace& place, int per_tile,
                                                 int rows_before, char* sums) {
  constexpr int kAtOnce = kRanksAtOnce<View>;
  constexpr int kMostLines =
      (View::kTileN + 2 * TILEPOST_LINE_ELEMENTS - 3) / TILEPOST_LINE_ELEMENTS;
  const tilepost_exchange_t& exchange = view.exchange;
  const int begin = place.row * View::kTileN;  // the row's first element, counted in the part
  const ExchangeRange lines = exchange_lines({place.row, place.row + 1}, View::kTileN);
  const int before = exchange_lines({rows_before, rows_before + 1}, View::kTileN).first;
  const int items = view.tiles_n * kMostLines;
  bool missing = false;
#pragma unroll 1
  for (int first = helper.thread; first < items; first += kAtOnce * helper.threads) {
    const char* from[kAtOnce];
    int column[kAtOnce], line[kAtOnce];
    uint4 found[kAtOnce][View::kRanks];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int item = first + i * helper.threads < items ? first + i * helper.threads : first;
      column[i] = item / kMostLines;
      line[i] = min(lines.first + item % kMostLines, lines.end - 1);
      from[i] = line_at(exchange, exchange.rank, 0, helper.run,
                        part_in_column(view, view.positions + column[i], place.part, per_tile),
                        line[i] - before);
    }
    missing = !await_lines<View::kRanks, kAtOnce>(exchange, helper, from, found);
    if (missing) break;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        const int element = line[i] * TILEPOST_LINE_ELEMENTS + 2 * pair - begin;
        const int at = column[i] * View::kTileN + element;
        if (element >= 0 && element < View::kTileN && at < View::kN)
          *reinterpret_cast<uint32_t*>(sums + at * sizeof(uint16_t)) =
              add_words<kType>(found[i], pair);
      }
    }
  }
  return !sync_helpers_any(helper, missing);
}

// ---- The norm of a row

// How the vectors of a row, of kUnitElements elements each, are divided among helper threads.
// norm::threads_of divides them among kThreads threads in kWarps warps, called the row's warps
// here. Helper warps keep this division, so that squares are added in the same order. If there are
// w helper warps, each does the work of every w-th of the row's warps.
template <class View>
struct RowShare {
  static constexpr int kVectors = View::kN / kUnitElements;
  static constexpr int kThreads = norm::threads_of(View::kN, kUnitElements);
  static constexpr int kWarps = kThreads / norm::kWarp;
  static constexpr int kSteps = (kVectors + kThreads - 1) / kThreads;  // vectors per thread
  // Four helper warps or more hold a row in registers, if these are enough. Each then stands for up
  // to kHeldWarps of the row's warps.
  static constexpr int kHeldWarps = (kWarps + 3) / 4;
  static constexpr bool kMayHold = kHeldWarps * kSteps <= kLoadsAtOnce<View> / 2;
};

// The vectors that a thread has at a time: those of kSteps steps from `step` on, for each of kWarps
// of the row's warps. These warps are `warp` and the next ones that this helper warp stands for.
// Where there is no such vector, is_there[i] is false and at[i] is the row's first vector.
template <class View, int kMost>
struct SomeVectors {
  using Share = RowShare<View>;
  static constexpr int kSteps = Share::kSteps < kMost ? Share::kSteps : kMost;
  static constexpr int kWarps = kMost / kSteps;
  static constexpr int kCount = kSteps * kWarps;

  int at[kCount];
  bool is_there[kCount];

  __device__ __forceinline__ SomeVectors(const Helper& helper, int warp, int step) {
    // In most kernels all vectors are there. Then one address serves all of a thread's vectors.
    const bool all = Share::kSteps * Share::kThreads == Share::kVectors &&
                     Share::kSteps % kSteps == 0 &&
                     Share::kWarps % (kWarps * (helper.threads / norm::kWarp)) == 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int of = warp + i / kSteps * (helper.threads / norm::kWarp);
      const int vector =
          (step + i % kSteps) * Share::kThreads + of * norm::kWarp + helper.thread % norm::kWarp;
      is_there[i] = all || (of < Share::kWarps && step + i % kSteps < Share::kSteps &&
                            vector < Share::kVectors);
      at[i] = is_there[i] ? vector : 0;
    }
  }
};

// Where the sums of squares of a row's warps come together, in shared memory. There is room for two
// rows, which take turns, so that a warp may write its sums of the next row while another warp
// still reads those of this row. No warp gets further ahead, because of the barrier in
// scale_of_row.
struct RowSquares {
  float* sums;
  int turn = 0;

  __device__ __forceinline__ float* now() const {
    return sums + turn * (norm::kMostThreads / norm::kWarp);
  }
};

template <class View>
__device__ __forceinline__ const uint4* weights_of(const View& view) {
  return static_cast<const uint4*>(view.exchange.norm.weight);
}
template <class View>
__device__ __forceinline__ uint4* vectors_of_row(void* rows, int row) {
  return static_cast<uint4*>(rows) + static_cast<int64_t>(row) * RowShare<View>::kVectors;
}

// All helper threads. Waits until all of the row's warps have put their squares, and returns the
// factor by which the row is multiplied.
template <class View>
__device__ __forceinline__ float scale_of_row(const View& view, const Helper& helper,
                                              RowSquares& squares) {
  sync_helpers(helper);
  const int lane = helper.thread % norm::kWarp;
  const float value = lane < RowShare<View>::kWarps ? squares.now()[lane] : 0;
  squares.turn ^= 1;
  return norm::scale_of(norm::warp_sum(value), View::kN, view.exchange.norm.epsilon);
}

// All lanes of a warp. `sum` is a lane's sum of squares for the row's warp `row_warp`. Adds these
// up over the lanes, and puts the result where all helper threads find it.
__device__ __forceinline__ void put_squares(const Helper& helper, const RowSquares& squares,
                                            int row_warp, float sum) {
  sum = norm::warp_sum(sum);
  if (helper.thread % norm::kWarp == 0) squares.now()[row_warp] = sum;
}

// All helper threads. Normalises a row. Each thread holds its vectors of the row in registers.
template <class View, DType kType, class Sums>
__device__ __forceinline__ void normalise_held(const View& view, const Helper& helper,
                                               RowSquares& squares, int row, const Sums& sums) {
  using Share = RowShare<View>;
  using Held = SomeVectors<View, Share::kHeldWarps * Share::kSteps>;
  constexpr bool kKeeps = View::kNorm == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  constexpr int kAtOnce = kRanksAtOnce<View>;
  const int warps = helper.threads / norm::kWarp, first_warp = helper.thread / norm::kWarp;
  uint4* const residual = vectors_of_row<View>(view.exchange.norm.residual, row);
  uint4* const out = vectors_of_row<View>(view.exchange.out, row);
  const Held held(helper, first_warp, 0);
  uint4 y[Held::kCount], weights[Held::kCount];
#pragma unroll
  for (int first = 0; first < Held::kCount; first += kAtOnce) {
    int at[kAtOnce];
    uint4 loaded[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) at[i] = first + i < Held::kCount ? held.at[first + i] : 0;
    sums.load(at, loaded);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (first + i < Held::kCount)
        y[first + i] = kKeeps ? norm::add<kType>(loaded[i], residual[at[i]]) : loaded[i];
  }
#pragma unroll
  for (int i = 0; i < Held::kCount; ++i) weights[i] = __ldg(weights_of(view) + held.at[i]);
#pragma unroll
  for (int warp = 0; warp < Share::kHeldWarps; ++warp) {
    float sum = 0;
#pragma unroll
    for (int i = warp * Share::kSteps; i < (warp + 1) * Share::kSteps; ++i)
      if (held.is_there[i]) sum = __fadd_rn(sum, norm::squares<kType>(y[i]));
    if (first_warp + warp * warps < Share::kWarps)
      put_squares(helper, squares, first_warp + warp * warps, sum);
  }
  const float scale = scale_of_row(view, helper, squares);
#pragma unroll
  for (int i = 0; i < Held::kCount; ++i) {
    if (!held.is_there[i]) continue;
    if constexpr (kKeeps) residual[held.at[i]] = y[i];
    out[held.at[i]] = norm::scaled<kType>(y[i], scale, weights[i]);
  }
}

// All helper threads. Normalises a row that is too long for the registers, in two passes. A thread
// reads a second time only what it has written itself.
template <class View, DType kType, class Sums>
__device__ __forceinline__ void normalise_long(const View& view, const Helper& helper,
                                               RowSquares& squares, int row, const Sums& sums) {
  using Share = RowShare<View>;
  using First = SomeVectors<View, kRanksAtOnce<View>>;
  using Second = SomeVectors<View, 4>;
  constexpr bool kKeeps = View::kNorm == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM;
  const int warps = helper.threads / norm::kWarp, first_warp = helper.thread / norm::kWarp;
  uint4* const out = vectors_of_row<View>(view.exchange.out, row);
  uint4* const kept = kKeeps ? vectors_of_row<View>(view.exchange.norm.residual, row) : out;
#pragma unroll 1
  for (int warp = first_warp; warp < Share::kWarps; warp += First::kWarps * warps) {
    float sum[First::kWarps] = {};
#pragma unroll 1
    for (int step = 0; step < Share::kSteps; step += First::kSteps) {
      const First some(helper, warp, step);
      uint4 y[First::kCount], added[First::kCount];
#pragma unroll
      for (int i = 0; i < First::kCount; ++i)
        if constexpr (kKeeps) added[i] = kept[some.at[i]];
      sums.load(some.at, y);
#pragma unroll
      for (int i = 0; i < First::kCount; ++i) {
        if (!some.is_there[i]) continue;
        if constexpr (kKeeps) y[i] = norm::add<kType>(y[i], added[i]);
        kept[some.at[i]] = y[i];
        sum[i / First::kSteps] = __fadd_rn(sum[i / First::kSteps], norm::squares<kType>(y[i]));
      }
    }
#pragma unroll
    for (int i = 0; i < First::kWarps; ++i)
      if (warp + i * warps < Share::kWarps) put_squares(helper, squares, warp + i * warps, sum[i]);
  }
  const float scale = scale_of_row(view, helper, squares);
#pragma unroll 1
  for (int warp = first_warp; warp < Share::kWarps; warp += Second::kWarps * warps)
#pragma unroll 1
    for (int step = 0; step < Share::kSteps; step += Second::kSteps) {
      const Second some(helper, warp, step);
      uint4 y[Second::kCount], weights[Second::kCount];
#pragma unroll
      for (int i = 0; i < Second::kCount; ++i) {
        y[i] = kept[some.at[i]];
        weights[i] = __ldg(weights_of(view) + some.at[i]);
      }
#pragma unroll
      for (int i = 0; i < Second::kCount; ++i)
        if (some.is_there[i]) out[some.at[i]] = norm::scaled<kType>(y[i], scale, weights[i]);
    }
}

template <class View, DType kType, class Sums>
__device__ __forceinline__ void normalise_row(const View& view, const Helper& helper,
                                              RowSquares& squares, int row, const Sums& sums) {
  using Share = RowShare<View>;
  if constexpr (Share::kMayHold)
    if (Share::kWarps <= Share::kHeldWarps * (helper.threads / norm::kWarp))
      return normalise_held<View, kType>(view, helper, squares, row, sums);
  normalise_long<View, kType>(view, helper, squares, row, sums);
}

// ---- All helper threads, and all rows of a CTA

// All helper threads. Starts to bring into L2 what row `row` of out needs besides its sums, while
// the sums come.
template <class View>
__device__ __forceinline__ void prefetch_row(const View& view, const Helper& helper, int row) {
  constexpr int kLineVectors = 128 / sizeof(uint4);
  if (row >= own_rows(view).count()) return;
  for (int v = helper.thread * kLineVectors; v < RowShare<View>::kVectors;
       v += helper.threads * kLineVectors) {
    ptx::prefetch_l2(weights_of(view) + v);
    if constexpr (View::kNorm == TILEPOST_CONSUMER_RESIDUAL_RMS_NORM)
      ptx::prefetch_l2(vectors_of_row<View>(view.exchange.norm.residual, row) + v);
  }
}

// All helper threads. Waits for row `row` of out, which is row `in_product` of the product, and
// normalises it. Returns false, to all threads, if the wait was given up. The row is not normalised
// then.
template <class View, DType kType>
__device__ __forceinline__ bool exchange_row(const View& view, const TileParts& parts,
                                             const TilePanels& panels, const Helper& helper,
                                             RowSquares& squares, int row, int in_product) {
  constexpr int kRowBytes = View::kN * sizeof(uint16_t);
  const tilepost_exchange_t& exchange = view.exchange;
  const RowPlace place = place_of_row<View>(in_product, parts.per_tile);
  if constexpr (View::kShots == TILEPOST_ONE_SHOT_LINES) {
    void* const sums = panels.idle.bytes >= kRowBytes ? ptx::shared_pointer(panels.idle.address)
                                                      : vectors_of_row<View>(exchange.out, row);
    const int before = own_rows(view).first - (in_product - place.row);
    if (!add_row_of_lines<View, kType>(view, helper, place, parts.per_tile, max(before, 0),
                                       static_cast<char*>(sums)))
      return false;
    normalise_row<View, kType>(view, helper, squares, row, StoredSums{sums});
  } else {
    const int owner = in_product / parts.box_rows % View::kRanks;
    void* const landed =
        View::kShots == TILEPOST_TWO_SHOT ? exchange.there[exchange.rank] : nullptr;
    if (!await_row(view, helper, place, parts.per_tile, owner)) return false;
    if constexpr (View::kShots == TILEPOST_TWO_SHOT) {
      normalise_row<View, kType>(view, helper, squares, row,
                                 StoredSums{vectors_of_row<View>(landed, row)});
    } else {
      char* const slots = exchange.memory[exchange.rank] + exchange.slots +
                          (helper.run & 1) * View::kRanks * exchange.slot_bytes;
      const int in_slot = slot_row(view, in_product, exchange.rank, parts.box_rows);
      normalise_row<View, kType>(
          view, helper, squares, row,
          SlotSums<View, kType>{vectors_of_row<View>(slots, in_slot), exchange.slot_bytes});
    }
  }
  return true;
}

// All helper threads. Normalises the CTA's rows: of those that this rank gets, row blockIdx.x and
// every gridDim.x-th from there on. Stops at the first row whose wait was given up.
template <class View, DType kType>
__device__ __forceinline__ void normalise_rows(const View& view, const TileParts& parts,
                                               const TilePanels& panels, const Helper& helper) {
  const ExchangeRange own = own_rows(view);
  RowSquares squares{static_cast<float*>(ptx::shared_pointer(panels.own.address))};
#pragma unroll 1
  for (int row = blockIdx.x; row < own.count(); row += gridDim.x) {
    prefetch_row(view, helper, row + static_cast<int>(gridDim.x));
    if (!exchange_row<View, kType>(view, parts, panels, helper, squares, row, own.first + row))
      break;
  }
  sync_helpers(helper);  // also for the threads that meet the other ranks
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_EXCHANGE_NORM_CUH
