// The steps that ranks carry out for each group. Any transport can carry them out.
//
// The planner verifies with this code that every byte is sent once and lands once. The transports
// of both targets execute the steps.
#ifndef TILEPOST_STEPS_H
#define TILEPOST_STEPS_H

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/map/tile_map.h"

namespace tilepost {

// What determines the communication of a run.
struct Exchange {
  tilepost_pattern_t pattern;
  tilepost_routing_t routing;
  int ranks;
  int64_t k;                 // elements of a row of A; read only where rows of A move
  bool overlaps;             // whether every group has steps of its own; if not, group 0 has all
                             // steps
  tilepost_access_t access;  // how ranks reach each other in runs that overlap; in all other runs
                             // they exchange messages
  tilepost_map_t map;        // map.cuts must outlive this structure
  bool pushes = false;       // tilepost_plan_t::pushes
};

Exchange exchange_of(const tilepost_plan_t& plan);

enum class StepKind {
  // TILEPOST_ACCESS_MESSAGES
  all_reduce,      // send buffer, in place: from == to
  reduce_scatter,  // send buffer -> out; `count` elements for every rank
  send,            // send buffer -> peer
  receive,         // peer -> out
  own_rows,        // this rank's own rows of A, a -> gathered, with any access
  all_gather,      // AllGather: gathered, in place; `count` elements from every rank
  send_rows,       // AllGather: gathered -> peer
  send_own_rows,   // routed rows of A: a -> peer
  receive_rows,    // rows of A: peer -> gathered

  // TILEPOST_ACCESS_READ and _WRITE. Ranks share this memory: `send`; `gathered`; `slots`, where
  // the parts of this rank's share come together (slots.h); `sums`, this rank's share in row-major
  // order; and `landed`, rows of out that other ranks have stored here. A rank reads nothing that a
  // peer has stored before the peer has announced it. With tilepost_plan_t::task_parts the kernel's
  // helper warps carry out sum, own_rows, own_part and landed_… as tasks. With WRITE the task that
  // makes a sum, or copies own rows, also pushes them.
  announce,   // announces to the peers that they may read what this rank has stored for the group,
              // or has pushed of its rows of A
  pull_part,  // peer's send buffer -> slots: rows of this rank's share, to be added up
  pull,       // peer's send buffer -> out: rows routed to this rank
  sum,        // out = sum over ranks in their order, in fp32. READ: this rank's part is in its send
              // buffer at `from`, and the others' parts are in slots at `from_slot`. WRITE: all
              // parts are in slots. AllReduce without pushes: the sum also goes to sums at
              // `from_slot`
  announce_sums,  // AllReduce: announces to the peers that they may read what this rank has summed
                  // for the group, or has pushed
  pull_sums,      // AllReduce: peer's sums -> out
  push_sums,      // AllReduce: this rank's sums in out -> peer's landed, at the same place
  landed_sums,    // AllReduce: sums that `peer` has pushed, landed -> out, at the same place.
                  // Nothing is copied where landed memory is out
  push_rows,      // rows of A: a -> peer's gathered
  landed_rows,    // rows of A that `peer` has pushed. They lie in gathered already, and nothing is
                  // copied
  own_part,       // All-to-All: this rank's rows for itself -> out, with READ from its send buffer,
                  // with WRITE from landed
  landed_part,    // All-to-All, WRITE: rows that `peer` has stored here, landed -> out, at the same
                  // place
};

// One step. A rank sends to itself by a send and a receive, as it does to other ranks. Between two
// ranks, the sends of a group and the receives for them come in the same order.
struct Step {
  StepKind kind;
  int peer;      // the other rank of send, receive, pull…, push…, landed_…
  int64_t from;  // the first element read. Pulls: in the peer's memory. reduce_scatter: the first
                 // element of the first rank's part
  int64_t to;    // the first element written. Pushes: in the peer's memory. pull_part: within the
                 // peer's block of slots
  int64_t count;
  int64_t keep;  // reduce_scatter: how many of the `count` elements received belong into out. A
                 // rank whose share is short keeps fewer than `count`. The rest must not be written
                 // to out
  int64_t from_slot = 0;  // sum: the first element within each block of slots
};

// The own rows of A at both ends of a rank's share that lie in one tile with rows of other ranks. A
// kernel that reads its own rows where the caller has them (tilepost_plan_t::reads_own) reads such
// a tile from the gathered rows. So these own rows must be copied there. The tile at the beginning
// of the share also has the last rows of the share before it. Those rows arrive last of all, so
// that tile waits for the last group.
struct EdgeRows {
  std::array<Step, 2> steps;  // own_rows steps, each of fewer rows than a tile has
  size_t count = 0;           // the number of steps; only the last group needs the second one
  std::span<const Step> all() const { return std::span(steps).first(count); }
  std::span<const Step> needed_first() const { return all().first(std::min<size_t>(count, 1)); }
  std::span<const Step> needed_last() const { return all().subspan(needed_first().size()); }
};
// `own`: the own_rows step of an AllGather. `k`: the number of elements of a row.
EdgeRows edges_of(const tilepost_map_t& map, int64_t k, const Step& own);

// How many rows every rank sends to every rank in every group, where rows are routed. Routed rows
// of A have one group here. The cuts decide which of these rows arrive in which group
// (arriving_part).
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
  // The number of rows in all groups together.
  int64_t sum(int source, int destination) const;
  // The number of rows that arrive at `destination` from the ranks before `source`.
  int64_t before(int source, int destination) const;
  int64_t arriving(int destination) const { return before(ranks_, destination); }
  // [ranks] The number of rows that arrive at `destination` from each rank.
  std::vector<int64_t> from_each(int destination) const;
  // The number of rows that `source` sends to the ranks before `destination`.
  int64_t sent_before(int source, int destination) const;
  int ranks() const { return ranks_; }
  int groups() const { return groups_; }
  int64_t bytes() const { return static_cast<int64_t>(rows_.capacity() * sizeof(int64_t)); }
  // [groups][ranks] The counts of one source, in the form in which ranks exchange them.
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

// One rank's route: where its rows go. Routing splits gives [ranks] `splits`, routing rows gives
// [m] `destinations`, and routing even gives neither.
struct Route {
  std::vector<int64_t> counts;  // [groups][ranks] rows to each rank in each group
  // [m] Routing rows: the destination row of each row, less the `row` of the row's tile.
  std::vector<int32_t> row_map;
};
Route make_route(const Exchange& exchange, std::span<const int64_t> splits,
                 std::span<const int32_t> destinations);

// The counts of routing even. They are the same on all ranks.
RowCounts even_counts(const Exchange& exchange);

// Routed rows of A: the counts of routing even if each rank sends m rows.
RowCounts even_input_counts(int ranks, int64_t m);

// One rank's route for its rows of A. Only routing rows has an `order`. It lists the rows of `a`
// sorted by destination. Rows for one rank keep their order.
struct InputRoute {
  std::vector<int64_t> counts;  // [ranks]
  std::vector<int32_t> order;   // [m]
};
InputRoute make_input_route(int ranks, std::span<const int64_t> splits,
                            std::span<const int32_t> destinations);

// The steps of `rank` for `group`, in order. `counts` is read only where rows are routed.
std::vector<Step> steps_of(const Exchange& exchange, const TileMap& tile_map, int group, int rank,
                           const RowCounts& counts);

// [groups] What one run adds to the counter that `rank` waits for. With TILEPOST_ACCESS_WRITE, if
// the product moves, the kernels of all ranks raise the counter for their tiles of this rank's
// rows. In a run that does not overlap this rank's own kernel raises the counter for all of its
// tiles. In both cases padding tiles, which no rank owns, are not counted.
std::vector<uint32_t> counter_targets(const Exchange& exchange, const TileMap& tile_map, int rank);

// The number of elements of the send buffer that steps read. It is at least tile_map.send_elements.
// Padding is reduced too, so elements that no kernel writes must be finite. The send buffer is
// zeroed once.
int64_t send_buffer_elements(const Exchange& exchange, const TileMap& tile_map);

// The number of elements of out on `rank`, as steps write it (panel: rows x n).
int64_t received_elements(const Exchange& exchange, const TileMap& tile_map, int rank,
                          const RowCounts& counts);

}  // namespace tilepost

#endif  // TILEPOST_STEPS_H
