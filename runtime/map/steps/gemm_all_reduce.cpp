// The steps of gemm_all_reduce: every rank ends with the sum of all ranks' products.
#include "runtime/map/steps/parts.h"

namespace tilepost {
namespace {

// The group's block of the send buffer is summed in place.
void messages(GroupSteps& own) {
  const tilepost_group_t& block = own.tile_map.groups[own.group];
  own.add({StepKind::all_reduce, 0, block.offset, block.offset, block.count, 0});
}

void pull_sums(GroupSteps& own) {
  own.announce(StepKind::announce_sums);
  own.for_others([&](int peer) {
    const SummedPart part = summed_part(own, peer);
    own.add_some({StepKind::pull_sums, peer, part.in_share, part.in_output, part.count, 0});
  });
}

void push_sums(GroupSteps& own) {
  const SummedPart mine = summed_part(own, own.rank);
  own.for_others([&](int peer) {
    own.add_some({StepKind::push_sums, peer, mine.in_output, mine.in_output, mine.count, 0});
  });
  own.announce(StepKind::announce_sums);
  own.for_others([&](int peer) {
    const SummedPart part = summed_part(own, peer);
    own.add_some({StepKind::landed_sums, peer, part.in_output, part.in_output, part.count, 0});
  });
}

// Each rank sums its share. Then every other rank gets the sum.
void shared(GroupSteps& own) {
  const SummedPart mine = summed_part(own, own.rank);
  sum_own_part(own, mine, mine.in_output);
  if (own.exchange.pushes)
    push_sums(own);
  else
    pull_sums(own);
}

int64_t received(const Exchange& exchange, const TileMap& tile_map, int /*rank*/,
                 const RowCounts& /*counts*/) {
  const tilepost_map_t& map = exchange.map;
  return map.division == TILEPOST_DIVISION_SHARES ? map.m * map.n : tile_map.send_elements;
}

}  // namespace

const PatternSteps kGemmAllReduceSteps = {messages, shared, received};

}  // namespace tilepost
