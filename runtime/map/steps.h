// What ranks exchange for each group: a list of steps that any transport can carry out.
//
// The planner verifies with this code that every byte is sent once and lands once; the transports
// of both targets execute it.
#ifndef TILEPOST_STEPS_H
#define TILEPOST_STEPS_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/map/tile_map.h"

namespace tilepost {

// The problem as far as communication goes.
struct Exchange {
  tilepost_pattern_t pattern;
  tilepost_routing_t routing;
  int ranks;
  int64_t k;                 // where rows of A move: elements of a row
  bool overlaps;             // steps follow groups; if not, group 0's steps are all there is
  tilepost_access_t access;  // of runs that overlap; the others exchange messages
  tilepost_map_t map;        // its cuts outlive this
  bool pushes = false;       // tilepost_plan_t::pushes
};

Exchange exchange_of(const tilepost_plan_t& plan);

enum class StepKind {
  // TILEPOST_ACCESS_MESSAGES
  all_reduce,      // send buffer, in place: from == to
  reduce_scatter,  // send buffer -> out; `count` elements for every rank
  send,            // send buffer -> peer
  receive,         // peer -> out
  own_rows,        // rows of A, any access: a -> gathered, what stays on this rank
  all_gather,      // AllGather: gathered, in place; `count` elements from every rank
  send_rows,       // AllGather: gathered -> peer
  send_own_rows,   // routed rows of A: a -> peer
  receive_rows,    // rows of A: peer -> gathered

  // TILEPOST_ACCESS_READ and _WRITE. Memory that ranks share: `send`, `gathered`; `slots`, where
  // parts of this rank's share come together (slots.h); `sums`, this rank's share row-major;
  // `landed`, rows of out that other ranks have stored here. Nothing that a peer has stored is read
  // before it has announced that. With tilepost_plan_t::task_parts a sum, own_rows, own_part or
  // landed_… is a task of the kernel's. So, with WRITE, is a push, which then belongs to the sum or
  // the own rows that it spreads.
  announce,   // what this rank has stored for the group, or pushed of its rows of A, may be read
  pull_part,  // peer's send buffer -> slots: rows of this rank's share, to be added
  pull,       // peer's send buffer -> out: rows routed to this rank
  sum,        // out = sum over ranks in their order, in fp32. READ: this rank's part is in its
              // send buffer at `from`, the others' in slots at `from_slot`; WRITE: all in slots.
              // AllReduce without pushes: also -> sums at `from_slot`
  announce_sums,  // AllReduce: what this rank has summed for the group, or pushed, may be read
  pull_sums,      // AllReduce: peer's sums -> out
  push_sums,      // AllReduce: this rank's sums in out -> peer's landed, the same place
  landed_sums,    // AllReduce: what `peer` has pushed, landed -> out, the same place; nothing is
                  // copied where out is landed
  push_rows,      // rows of A: a -> peer's gathered
  landed_rows,    // rows of A: what `peer` has pushed is there, in gathered
  own_part,       // All-to-All: this rank's rows for itself: READ from its send buffer, WRITE from
                  // landed -> out
  landed_part,    // All-to-All, WRITE: what `peer` has stored here, landed -> out, the same place
};

// One operation. Sends to and receives from oneself are pairs like all others. Between two ranks
// the sends of a group and their receives come in the same order.
struct Step {
  StepKind kind;
  int peer;      // send, receive, pull…, push…, landed_…
  int64_t from;  // first element read, in the peer's memory for pulls; of the first rank's part for
                 // reduce_scatter
  int64_t to;    // first element written, in the peer's memory for pushes; pull_part: within the
                 // peer's block of slots
  int64_t count;
  int64_t keep;  // reduce_scatter: how many of the `count` received lie in out; fewer on ranks
                 // whose share is short, where the rest must not be written
  int64_t from_slot = 0;  // sum: first element within each block of slots
};

// Of a rank's own rows of A those at both ends of its share that are in tiles with rows of other
// ranks too. A kernel that reads its own rows where the caller has them
// (tilepost_plan_t::reads_own) reads such a tile where all rows are gathered. The tile at the
// beginning of the share has the last rows of the share before it, which come last of all, and
// waits for the last group.
struct EdgeRows {
  std::array<Step, 2> steps;  // own_rows, of less than a tile's rows each
  size_t count = 0;           // the second one is what the last group needs, no other does
  std::span<const Step> all() const { return std::span(steps).first(count); }
  std::span<const Step> needed_first() const { return all().first(std::min<size_t>(count, 1)); }
  std::span<const Step> needed_last() const { return all().subspan(needed_first().size()); }
};
// `own`: the own_rows of an AllGather; k: elements of a row.
EdgeRows edges_of(const tilepost_map_t& map, int64_t k, const Step& own);

// Rows that every rank sends to every rank in every group, where rows are routed. Rows of A have
// one group here: the cuts say which of them arrive when (arriving_part).
class RowCounts {
 public:
  RowCounts() = default;
  RowCounts(int ranks, int groups)
      : ranks_(ranks), groups_(groups), rows_(static_cast<size_t>(ranks) * groups * ranks) {}
  int64_t& at(int source, int group, int destination) {
    return rows_[index(source, group, destination)];
  }
  int64_t at(int source, int group, int destination) const {
    return rows_[index(source, group, destination)];
  }
  // All groups together.
  int64_t sum(int source, int destination) const;
  // What arrives at `destination` from the ranks before `source`.
  int64_t before(int source, int destination) const;
  int64_t arriving(int destination) const { return before(ranks_, destination); }
  // [ranks] what arrives there from each rank.
  std::vector<int64_t> from_each(int destination) const;
  // Of `source`, what goes to the ranks before `destination`.
  int64_t sent_before(int source, int destination) const;
  int ranks() const { return ranks_; }
  int groups() const { return groups_; }
  int64_t bytes() const { return static_cast<int64_t>(rows_.capacity() * sizeof(int64_t)); }
  // [groups][ranks] of one source, as ranks exchange them.
  std::span<int64_t> of(int source) {
    return std::span(rows_).subspan(static_cast<size_t>(source) * groups_ * ranks_,
                                    static_cast<size_t>(groups_) * ranks_);
  }

 private:
  size_t index(int source, int group, int destination) const {
    return (static_cast<size_t>(source) * groups_ + group) * ranks_ + destination;
  }
  int ranks_ = 0, groups_ = 0;
  std::vector<int64_t> rows_;
};

// One rank's route: what its rows do. [ranks] `splits` for routing splits, [m] `destinations` for
// rows; neither for even.
struct Route {
  std::vector<int64_t> counts;  // [groups][ranks] rows to each rank in each group
  // [m] routing rows: what a tile adds to its `row` for each of its rows to get the destination
  // row.
  std::vector<int32_t> row_map;
};
Route make_route(const Exchange& exchange, std::span<const int64_t> splits,
                 std::span<const int32_t> destinations);

// The counts of routing even, the same on all ranks.
RowCounts even_counts(const Exchange& exchange);

// Routed rows of A: the counts of routing even where each rank sends m rows.
RowCounts even_input_counts(int ranks, int64_t m);

// Routed rows of A, one rank's: rows to each rank, and for routing rows which row of a comes when
// they are sorted by destination, those for one rank in their order.
struct InputRoute {
  std::vector<int64_t> counts;  // [ranks]
  std::vector<int32_t> order;   // [m]
};
InputRoute make_input_route(int ranks, std::span<const int64_t> splits,
                            std::span<const int32_t> destinations);

// What `rank` does for `group`, in order. `counts` where rows are routed only.
std::vector<Step> steps_of(const Exchange& exchange, const TileMap& tile_map, int group, int rank,
                           const RowCounts& counts);

// By group, what one run adds to the counter that `rank` waits for. TILEPOST_ACCESS_WRITE, but for
// AllGather: the kernels of all ranks raise it for their tiles of this rank's rows, or, where
// nothing overlaps, this rank's own for all of its tiles; padding, which no rank owns, is not
// counted.
std::vector<uint32_t> counter_targets(const Exchange& exchange, const TileMap& tile_map, int rank);

// Elements of the send buffer that steps read: at least tile_map.send_elements. What kernels do not
// write there must be finite (zeroed once), because padding is reduced too.
int64_t send_buffer_elements(const Exchange& exchange, const TileMap& tile_map);

// Elements of out on `rank` in the order in which steps write it (panel: rows x n).
int64_t received_elements(const Exchange& exchange, const TileMap& tile_map, int rank,
                          const RowCounts& counts);

}  // namespace tilepost

#endif  // TILEPOST_STEPS_H
