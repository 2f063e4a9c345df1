// Parts that are exchanged in lines (TILEPOST_ONE_SHOT_LINES). A line is sixteen bytes that are
// stored in one access: twelve bytes of data, then the number of the run. A thread that finds this
// number has the data too. It reads nothing else, so nothing has to be released or acquired.
#ifndef TILEPOST_DEVICE_EXCHANGE_LINES_CUH
#define TILEPOST_DEVICE_EXCHANGE_LINES_CUH

#include <cstdint>

#include "tilepost/device/exchange_parts.cuh"
#include "tilepost/device/ptx_sm90.cuh"

namespace tilepost::woven {

constexpr int kPanelColumns = 64;
constexpr int kPairs = TILEPOST_LINE_ELEMENTS / 2;  // pairs of elements in a line

// Two neighbouring elements of a part, in one word, as the panels have them. `element` is the
// number of the first one, counted along the part's rows.
template <int kColumns>
__device__ __forceinline__ uint32_t panel_word(const TilePanels& panels, int element) {
  const int row = element / kColumns, column = element % kColumns;
  const int in_panel = column % kPanelColumns;
  const uint32_t chunk = static_cast<uint32_t>(in_panel / 8 ^ row % 8);
  return ptx::load_shared_word(panels.address + column / kPanelColumns * panels.stride + row * 128 +
                               chunk * 16 + in_panel % 8 * 2);
}

// All helper threads. Stores each line of a part into the memory of the ranks that get any row of
// it, this rank included. What a line has behind the part's last row is undefined.
template <class View>
__device__ __forceinline__ void store_lines(const View& view, const Helper& helper,
                                            const TilePanels& panels,
                                            const PartUnits<View::kTileN>& units, int part) {
  const int lines = exchange_lines({0, units.end - units.first}, View::kTileN).end;
#pragma unroll 2
  for (int line = helper.thread; line < lines; line += helper.threads) {
    uint32_t words[kPairs];
#pragma unroll
    for (int i = 0; i < kPairs; ++i)
      words[i] = panel_word<View::kTileN>(panels, line * TILEPOST_LINE_ELEMENTS + 2 * i);
    const ExchangeRange rows{units.first, units.end};
    const ExchangeRanks ranks = ranks_of_line(view, rows, line);
#pragma unroll
    for (int place = 0; place < ranks.count; ++place) {
      const int rank = ranks.at(place, view.exchange.rank);
      const int first = View::kScatters ? lines_for(view, rows, rank).first : 0;
      ptx::store_line_sys(
          line_at(view.exchange, rank, view.exchange.rank, helper.run, part, line - first),
          {words[0], words[1], words[2], helper.run});
    }
  }
}

// Waits until kAtOnce lines of each rank are there. from[i] is where rank 0's i-th line lies here;
// the same lines of the other ranks follow slot_bytes apart. Each poll loads all lines before it
// looks at any. Returns false if the wait was given up, as await() does.
template <int kRanks, int kAtOnce>
__device__ __forceinline__ bool await_lines(const tilepost_exchange_t& exchange,
                                            const Helper& helper,
                                            const char* const (&from)[kAtOnce],
                                            uint4 (&found)[kAtOnce][kRanks]) {
  constexpr int kPollsPerCheck = 1024;
  Patience patience;
  for (int polls = 1;; ++polls) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
      for (int rank = 0; rank < kRanks; ++rank)
        found[i][rank] = ptx::load_line_sys(from[i] + rank * exchange.slot_bytes);
    uint32_t missing = 0;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
#pragma unroll
      for (int rank = 0; rank < kRanks; ++rank) missing |= found[i][rank].w ^ helper.run;
    if (missing == 0) break;
    if (polls % kPollsPerCheck != 0) continue;
    patience = look_up(exchange, helper.run, exchange.arrived_wait, patience);
    if (patience.over) return false;
  }
  if (patience.told) *static_cast<volatile uint32_t*>(exchange.arrived_wait) = 0;
  return true;
}

__device__ __forceinline__ uint32_t word_of_line(const uint4& line, int pair) {
  return pair == 0 ? line.x : pair == 1 ? line.y : line.z;
}

// The sums of a pair of elements over all ranks' lines, in the order of ranks.
template <DType kType, int kRanks>
__device__ __forceinline__ uint32_t add_words(const uint4 (&found)[kRanks], int pair) {
  float2 sum = unpack<kType>(word_of_line(found[0], pair));
#pragma unroll
  for (int rank = 1; rank < kRanks; ++rank) {
    const float2 other = unpack<kType>(word_of_line(found[rank], pair));
    sum.x += other.x;
    sum.y += other.y;
  }
  return pack<kType>(sum.x, sum.y);
}

// Stores to out the elements of line `line` of a part (`units`) that lie in rows which this rank
// gets (`own`). `found` has the line of every rank. Where View::kSums, the elements of all ranks
// are added up in the order of ranks. Otherwise (All-to-All) those of every rank are stored.
template <class View, DType kType>
__device__ __forceinline__ void add_line(const View& view, const PartUnits<View::kTileN>& units,
                                         const PartUnits<View::kTileN>& own,
                                         const uint4 (&found)[View::kRanks], int line, int n) {
#pragma unroll
  for (int pair = 0; pair < kPairs; ++pair) {
    const int element = line * TILEPOST_LINE_ELEMENTS + 2 * pair;
    const int row = units.first + element / View::kTileN, column = element % View::kTileN;
    if (row < own.first || row >= own.end || column >= own.columns) continue;
    const auto out = [&](int source) -> uint32_t& {
      return *reinterpret_cast<uint32_t*>(
          static_cast<char*>(view.exchange.out) +
          (row_of_out(view, row, source) * n + own.column + column) * 2);
    };
    if constexpr (!View::kSums) {
#pragma unroll
      for (int rank = 0; rank < View::kRanks; ++rank) out(rank) = word_of_line(found[rank], pair);
      continue;
    }
    out(0) = add_words<kType>(found, pair);
  }
}

// All helper threads. Adds up, or moves, to out those lines of a part that have any element of the
// rows that this rank gets. A thread takes a few lines at a time. Where it has fewer left, it loads
// the first of them again in place of the missing ones.
template <class View, DType kType>
__device__ __forceinline__ void add_lines(const View& view, const Helper& helper,
                                          const PartUnits<View::kTileN>& units, int part, int n) {
  constexpr int kAtOnce = View::kRanks <= 2 ? 6 : View::kRanks <= 4 ? 3 : 1;
  const tilepost_exchange_t& exchange = view.exchange;
  const PartUnits<View::kTileN> own = own_units(view, units);
  const ExchangeRange lines = lines_for(view, ExchangeRange{units.first, units.end}, exchange.rank);
#pragma unroll 1
  for (int first = lines.first + helper.thread; first < lines.end;
       first += kAtOnce * helper.threads) {
    const char* from[kAtOnce];
    uint4 found[kAtOnce][View::kRanks];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int line = first + i * helper.threads;
      from[i] = line_at(exchange, exchange.rank, 0, helper.run, part,
                        (line < lines.end ? line : first) - lines.first);
    }
    if (!await_lines<View::kRanks, kAtOnce>(exchange, helper, from, found)) return;
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (first + i * helper.threads < lines.end)
        add_line<View, kType>(view, units, own, found[i], first + i * helper.threads, n);
  }
}

}  // namespace tilepost::woven

#endif  // TILEPOST_DEVICE_EXCHANGE_LINES_CUH
