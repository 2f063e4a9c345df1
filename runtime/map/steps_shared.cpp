// Steps of ranks that touch each other's memory.
#include "runtime/map/steps_parts.h"

namespace tilepost {
namespace {

// What one rank does for one group.
class SharedSteps {
 public:
  SharedSteps(const Exchange& exchange, int group, int rank, const RowCounts& counts,
              std::vector<Step>& steps)
      : exchange_(exchange),
        map_(exchange.map),
        group_(group),
        rank_(rank),
        counts_(counts),
        steps_(steps) {}

  // ReduceScatter, and the first half of AllReduce: this rank's rows come together in its slots.
  void sum_own() {
    const Part own = part_of(rank_);
    const bool all = exchange_.pattern == TILEPOST_GEMM_ALL_REDUCE;
    int64_t from = 0;
    if (reads()) {
      add(StepKind::announce, 0, 0, 0, 0);
      from = part_row(map_, {}, group_, rank_) * map_.n;
      for_others(
          [&](int peer) { add_some(StepKind::pull_part, peer, from, own.in_share, own.count); });
    }
    if (own.count == 0) return;
    add(StepKind::sum, 0, from, all ? own.in_output : own.in_share, own.count);
    steps_.back().from_slot = own.in_share;
  }

  // The second half of AllReduce: everybody else's sums.
  void spread_sums() {
    if (exchange_.pushes)
      push_sums();
    else
      pull_sums();
  }

  void all_to_all() {
    if (reads()) add(StepKind::announce, 0, 0, 0, 0);
    for_others([&](int peer) { routed(reads() ? StepKind::pull : StepKind::landed_part, peer); });
    routed(StepKind::own_part, rank_);
  }

  // Whoever has rows of A stores them where they are needed: copy engines push almost twice as fast
  // as they pull. The own rows are nobody else's to wait for.
  void gather() {
    if (group_ == 0) {
      const int64_t to = first_row_of_rank(map_, rank_) * exchange_.k;
      add_some(StepKind::own_rows, rank_, 0, to, rows_of_rank(map_, rank_) * exchange_.k);
      return;
    }
    push_rows();
    for_others([&](int peer) {
      const Rows rows = rows_between(peer, rank_);
      add_some(StepKind::landed_rows, peer, rows.in_all, rows.in_all, rows.count);
    });
  }

 private:
  // The group's part of a rank's share: elements.
  struct Part {
    int64_t in_share;   // where it starts in a row-major share, a block of slots
    int64_t in_output;  // and in the row-major product
    int64_t count;
  };

  Part part_of(int rank) const {
    const SharePart part = share_part(map_, {}, group_, rank);
    const int64_t first = part.first * map_.tile_m;
    return {first * map_.n, (first_row_of_rank(map_, rank) + first) * map_.n,
            valid_rows(map_, part, rows_of_rank(map_, rank)) * map_.n};
  }

  // The group's part of what one rank brings another in an AllGather: elements.
  struct Rows {
    int64_t in_share;  // where it starts in that rank's rows
    int64_t in_all;    // and in all rows
    int64_t count;
  };

  Rows rows_between(int source, int rank) const {
    const SharePart part = arriving_part(map_, group_, source, rank);
    const int64_t first = part.first * map_.tile_m, k = exchange_.k;
    return {first * k, (source * share_rows(map_) + first) * k,
            valid_rows(map_, part, rows_of_rank(map_, source)) * k};
  }

  void pull_sums() {
    add(StepKind::announce_sums, 0, 0, 0, 0);
    for_others([&](int peer) {
      const Part part = part_of(peer);
      add_some(StepKind::pull_sums, peer, part.in_share, part.in_output, part.count);
    });
  }

  void push_sums() {
    const Part own = part_of(rank_);
    for_others([&](int peer) {
      add_some(StepKind::push_sums, peer, own.in_output, own.in_output, own.count);
    });
    add(StepKind::announce_sums, 0, 0, 0, 0);
    for_others([&](int peer) {
      const Part part = part_of(peer);
      add_some(StepKind::landed_sums, peer, part.in_output, part.in_output, part.count);
    });
  }

  // Who has this rank's rows as the first of all that come there gets them first.
  void push_rows() {
    for (int distance = 1; distance < exchange_.ranks; ++distance) {
      const int peer = (rank_ + exchange_.ranks - distance) % exchange_.ranks;
      const Rows own = rows_between(rank_, peer);
      add_some(StepKind::push_rows, peer, own.in_share, own.in_all, own.count);
    }
    add(StepKind::announce, 0, 0, 0, 0);
  }

  bool reads() const { return exchange_.access == TILEPOST_ACCESS_READ; }

  // Each pair of ranks in the same distance at the same time, so that nobody is asked by all.
  template <class Body>
  void for_others(Body body) const {
    for (int distance = 1; distance < exchange_.ranks; ++distance)
      body((rank_ + distance) % exchange_.ranks);
  }

  void routed(StepKind kind, int source) {
    const int64_t to = arriving_row(group_, source, rank_, counts_) * map_.n;
    const int64_t from =
        reads() ? sent_row(exchange_, group_, source, rank_, counts_) * map_.n : to;
    add_some(kind, source, from, to, counts_.at(source, group_, rank_) * map_.n);
  }

  void add(StepKind kind, int peer, int64_t from, int64_t to, int64_t count) {
    steps_.push_back({kind, peer, from, to, count, 0});
  }
  void add_some(StepKind kind, int peer, int64_t from, int64_t to, int64_t count) {
    if (count > 0) add(kind, peer, from, to, count);
  }

  const Exchange& exchange_;
  const tilepost_map_t& map_;
  const int group_, rank_;
  const RowCounts& counts_;
  std::vector<Step>& steps_;
};

}  // namespace

int64_t part_row(const tilepost_map_t& map, std::span<const int64_t> splits, int group,
                 int destination) {
  int64_t tile_rows = 0;
  for (int rank = 0; rank < map.ranks; ++rank) {
    const SharePart part = share_part(map, splits, group, rank);
    tile_rows += rank < destination ? part.end : part.first;
  }
  return tile_rows * map.tile_m;
}

int64_t sent_row(const Exchange& exchange, int group, int source, int destination,
                 const RowCounts& counts) {
  if (exchange.map.division == TILEPOST_DIVISION_SHARES) {
    std::vector<int64_t> splits;
    if (exchange.routing == TILEPOST_ROUTING_SPLITS)
      for (int rank = 0; rank < exchange.ranks; ++rank) splits.push_back(counts.sum(source, rank));
    return part_row(exchange.map, splits, group, destination);
  }
  // Tile columns divide no rows: there it is one group.
  const int last = std::min(group, counts.groups() - 1);
  int64_t row = 0;
  for (int g = 0; g <= last; ++g)
    for (int rank = 0; rank < (g < last ? exchange.ranks : destination); ++rank)
      row += counts.at(source, g, rank);
  return row;
}

int64_t arriving_row(int group, int source, int rank, const RowCounts& counts) {
  int64_t row = counts.before(source, rank);
  for (int g = 0; g < group; ++g) row += counts.at(source, g, rank);
  return row;
}

// The owner is told by a tile's rows, for tiles do not cross the borders of shares.
std::vector<uint32_t> counter_targets(const Exchange& exchange, const TileMap& tile_map, int rank) {
  std::vector<uint32_t> targets;
  targets.reserve(tile_map.groups.size());
  for (const tilepost_group_t& group : tile_map.groups) targets.push_back(group.target);
  const bool gathers = exchange.pattern == TILEPOST_ALL_GATHER_GEMM;
  if (exchange.access != TILEPOST_ACCESS_WRITE || gathers) return targets;
  const tilepost_map_t& map = exchange.map;
  const int raised = map.signals_per_tile * (exchange.overlaps ? exchange.ranks : 1);
  std::ranges::fill(targets, 0);
  for (const tilepost_tile_t& tile : tile_map.tiles)
    if (tile.row >= 0 && (!exchange.overlaps || tile.m / share_rows(map) == rank))
      targets[tile.group] += static_cast<uint32_t>(raised);
  return targets;
}

void shared_steps(const Exchange& exchange, int group, int rank, const RowCounts& counts,
                  std::vector<Step>& steps) {
  SharedSteps own(exchange, group, rank, counts, steps);
  switch (exchange.pattern) {
    case TILEPOST_GEMM:
      break;
    case TILEPOST_GEMM_ALL_REDUCE:
      own.sum_own();
      own.spread_sums();
      break;
    case TILEPOST_GEMM_REDUCE_SCATTER:
      own.sum_own();
      break;
    case TILEPOST_GEMM_ALL_TO_ALL:
      own.all_to_all();
      break;
    case TILEPOST_ALL_GATHER_GEMM:
      own.gather();
      break;
  }
}

}  // namespace tilepost
