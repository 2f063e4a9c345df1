// The steps of gemm_reduce_scatter: every rank ends with its share of the sum of all products.
#include "runtime/map/steps/parts.h"

namespace tilepost {
namespace {

void columns(GroupSteps& own) {
  const tilepost_map_t& map = own.map;
  const int64_t slab = slab_rows(map) * map.tile_n, part = share_rows(map) * map.tile_n;
  own.for_columns([&](int64_t n) {
    own.add({StepKind::reduce_scatter, 0, n * slab, n * part, part, part});
  });
}

void messages(GroupSteps& own) {
  const tilepost_map_t& map = own.map;
  if (map.division == TILEPOST_DIVISION_COLUMNS) {
    columns(own);
    return;
  }
  SharePart part{0, share_tiles(map)};
  int64_t rows = share_rows(map);
  if (map.division == TILEPOST_DIVISION_SHARES) {
    part = share_part(map, {}, own.group, own.rank);
    rows = (part.end - part.first) * map.tile_m;
  }
  const int64_t kept = std::min(rows, valid_rows(map, part, rows_of_rank(map, own.rank)));
  own.add({StepKind::reduce_scatter, 0, own.tile_map.groups[own.group].offset,
           part.first * map.tile_m * map.n, rows * map.n, kept * map.n});
}

void shared(GroupSteps& own) {
  const SummedPart mine = summed_part(own, own.rank);
  sum_own_part(own, mine, mine.in_share);
}

int64_t received(const Exchange& exchange, const TileMap& /*tile_map*/, int rank,
                 const RowCounts& /*counts*/) {
  const tilepost_map_t& map = exchange.map;
  const bool columns = map.division == TILEPOST_DIVISION_COLUMNS;
  return (columns ? share_rows(map) : rows_of_rank(map, rank)) * out_width(map);
}

// The ReduceScatter takes equally many rows for every rank, so the send buffer has whole shares.
int64_t sent(const Exchange& exchange) {
  const tilepost_map_t& map = exchange.map;
  return map.division == TILEPOST_DIVISION_ROWS ? exchange.ranks * share_rows(map) * map.n : 0;
}

}  // namespace

const PatternSteps kGemmReduceScatterSteps = {messages, shared, received, sent};

}  // namespace tilepost
