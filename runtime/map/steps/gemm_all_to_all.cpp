// The steps of gemm_all_to_all: every row of a rank's product goes to the rank that its route
// names.
#include "runtime/map/steps/parts.h"

namespace tilepost {
namespace {

// `out` has a block for each source rank. In the block each tile column is a slab of the rows that
// come from that rank.
void columns(GroupSteps& own) {
  const tilepost_map_t& map = own.map;
  const RowCounts& counts = own.counts;
  const int64_t slab = slab_rows(map), width = map.tile_n;
  own.for_columns([&](int64_t n) {
    for (int peer = 0; peer < own.exchange.ranks; ++peer) {
      const int64_t out = counts.at(own.rank, 0, peer), in = counts.at(peer, 0, own.rank);
      const int64_t from = n * slab + sent_row(own.exchange, own.group, own.rank, peer, counts);
      const int64_t to = counts.before(peer, own.rank) * tiles_n(map) + n * in;
      own.add_some({StepKind::send, peer, from * width, 0, out * width, 0});
      own.add_some({StepKind::receive, peer, 0, to * width, in * width, 0});
    }
  });
}

void messages(GroupSteps& own) {
  if (own.map.division == TILEPOST_DIVISION_COLUMNS) {
    columns(own);
    return;
  }
  const RowCounts& counts = own.counts;
  const int64_t n = own.map.n;
  for (int peer = 0; peer < own.exchange.ranks; ++peer) {
    const int64_t out = counts.at(own.rank, own.group, peer);
    const int64_t in = counts.at(peer, own.group, own.rank);
    const int64_t from = sent_row(own.exchange, own.group, own.rank, peer, counts);
    const int64_t to = arriving_row(own.group, peer, own.rank, counts);
    own.add_some({StepKind::send, peer, from * n, 0, out * n, 0});
    own.add_some({StepKind::receive, peer, 0, to * n, in * n, 0});
  }
}

// Brings to this rank the rows of `source` that are routed to it.
void bring(GroupSteps& own, StepKind kind, int source) {
  const int64_t n = own.map.n;
  const int64_t to = arriving_row(own.group, source, own.rank, own.counts);
  const int64_t from =
      own.reads() ? sent_row(own.exchange, own.group, source, own.rank, own.counts) : to;
  own.add_some({kind, source, from * n, to * n, own.counts.at(source, own.group, own.rank) * n, 0});
}

void shared(GroupSteps& own) {
  if (own.reads()) own.announce(StepKind::announce);
  const StepKind kind = own.reads() ? StepKind::pull : StepKind::landed_part;
  own.for_others([&](int peer) { bring(own, kind, peer); });
  bring(own, StepKind::own_part, own.rank);
}

int64_t received(const Exchange& exchange, const TileMap& /*tile_map*/, int rank,
                 const RowCounts& counts) {
  return counts.arriving(rank) * out_width(exchange.map);
}

}  // namespace

const PatternSteps kGemmAllToAllSteps = {messages, shared, received};

}  // namespace tilepost
