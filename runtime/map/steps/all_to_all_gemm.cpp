// The steps of all_to_all_gemm: every row of a rank's A goes to the rank that its route names.
// There the rows come together in the order of the ranks that they come from.
#include "runtime/map/steps/parts.h"

namespace tilepost {
namespace {

// Rows [first, end) of the rows that `source` has for `rank`.
MovedRows part_between(const GroupSteps& own, int source, int rank, int64_t first, int64_t end) {
  const RowCounts& counts = own.counts;
  const int64_t k = own.exchange.k;
  return {(counts.sent_before(source, rank) + first) * k, (counts.before(source, rank) + first) * k,
          (end - first) * k};
}

MovedRows all_between(const GroupSteps& own, int source, int rank) {
  return part_between(own, source, rank, 0, own.counts.at(source, 0, rank));
}

// The group's part of the rows that `source` has for `rank`, by the cuts. Both ranks compute the
// same part.
MovedRows rows_between(const GroupSteps& own, int source, int rank) {
  const int64_t all = own.counts.at(source, 0, rank);
  const SharePart part =
      arriving_part(own.map, own.counts.from_each(rank), own.group, source, rank);
  return part_between(own, source, rank, std::min(part.first * own.map.tile_m, all),
                      std::min(part.end * own.map.tile_m, all));
}

// All ranks exchange at the same distance at the same time, so each rank sends to one rank and
// receives from one.
void exchange(GroupSteps& own, RowsBetween between) {
  const int ranks = own.exchange.ranks;
  for (int distance = 1; distance < ranks; ++distance) {
    const int to = (own.rank + distance) % ranks, from = (own.rank + ranks - distance) % ranks;
    const MovedRows sent = between(own, own.rank, to), received = between(own, from, own.rank);
    own.add_some({StepKind::send_own_rows, to, sent.in_a, 0, sent.count, 0});
    own.add_some({StepKind::receive_rows, from, 0, received.in_gathered, received.count, 0});
  }
}

void messages(GroupSteps& own) {
  if (own.group == 0) bring_own_rows(own, all_between(own, own.rank, own.rank));
  if (own.map.division != TILEPOST_DIVISION_ARRIVALS)
    exchange(own, all_between);
  else if (own.group > 0)
    exchange(own, rows_between);
}

void shared(GroupSteps& own) {
  if (own.group == 0)
    bring_own_rows(own, all_between(own, own.rank, own.rank));
  else
    push_and_land_rows(own, rows_between);
}

}  // namespace

const PatternSteps kAllToAllGemmSteps = {messages, shared};

}  // namespace tilepost
