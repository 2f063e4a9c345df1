// The scales of A's blocks (tilepost_scales_t) where rows of A move between ranks. They travel with
// their rows: whatever moves rows moves their scales too, before it announces the rows.
#ifndef TILEPOST_MOVED_SCALES_H
#define TILEPOST_MOVED_SCALES_H

#include <cstdint>

#include "runtime/map/patterns.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/block_scales.h"
#include "tilepost/plan.h"

namespace tilepost {

// How many scales belong to rows of A that move, and where. They are in the order of
// TILEPOST_SCALES_ROWS, so that rows which follow each other have scales which do.
struct MovedScales {
  int64_t k = 1;    // elements of a row of A
  int64_t row = 0;  // scales of a row; 0: rows move alone

  bool exist() const { return row > 0; }
  // The number of scales of `elements` elements of A, which are whole rows. It is also the index of
  // the first scale of the row that begins there.
  int64_t of(int64_t elements) const { return exist() ? elements / k * row : 0; }
  int64_t bytes_of(int64_t elements) const {
    return of(elements) * static_cast<int64_t>(sizeof(float));
  }
  int64_t row_bytes() const { return row * static_cast<int64_t>(sizeof(float)); }
};

inline MovedScales moved_scales(const tilepost_plan_t& plan) {
  const bool moved = plan.scales != TILEPOST_SCALES_NONE && row_of(plan).moves_input();
  return {plan.k, moved ? scale_blocks(plan.k) : 0};
}

// Whether the transport moves the scales of rows of A with the rows.
constexpr bool brings_scales(tilepost_transport_t transport) {
  return transport == TILEPOST_TRANSPORT_NONE || transport == TILEPOST_TRANSPORT_NCCL ||
         transport == TILEPOST_TRANSPORT_COPY_ENGINE || transport == TILEPOST_TRANSPORT_PEER ||
         transport == TILEPOST_TRANSPORT_PEER_TILES || transport == TILEPOST_TRANSPORT_HOST;
}

// Whether whatever moves rows of A can move their scales too. They must be in the order in which
// they are rows of their own.
inline bool moves_scales_as_it_may(const tilepost_plan_t& plan) {
  return !moved_scales(plan).exist() ||
         (plan.scales_a == TILEPOST_SCALES_ROWS && brings_scales(plan.transport));
}

// The bytes of a row of A and, where they move with it, of its scales.
inline int64_t moved_row_bytes(const tilepost_plan_t& plan) {
  return plan.k * element_bytes(plan.input) + moved_scales(plan).row_bytes();
}

// Memory of an operation for rows of A and, behind them, for their scales.
struct RowsPlace {
  int64_t scales;  // bytes from the beginning to the scales
  int64_t bytes;
};
inline RowsPlace place_of_rows(const tilepost_plan_t& plan, int64_t rows) {
  constexpr int64_t kAlignment = 128;
  const int64_t bytes = rows * plan.k * element_bytes(plan.input);
  const MovedScales scales = moved_scales(plan);
  if (!scales.exist()) return {bytes, bytes};
  const int64_t begin = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return {begin, begin + scales.bytes_of(rows * plan.k)};
}

}  // namespace tilepost

#endif  // TILEPOST_MOVED_SCALES_H
