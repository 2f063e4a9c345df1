// Checks tiles that kernels exchange (TILEPOST_ACCESS_TILES), and the boxes of kernels that could.
//
// The CTAs of a tile own rows of it, in units of eight rows and as equally as possible. What a CTA
// owns travels in boxes. With TILEPOST_TWO_SHOT, rank r sums box b of all rows where b % ranks is
// r; otherwise every rank sums all boxes. Where a rank gets a share of the rows, a box goes to
// every rank in whose share it has a row. The CTAs of that rank with tiles of a column each sum, or
// take, an equal part of the share. In lines, what a CTA owns travels as a whole, and the CTA that
// owns the same rows sums or takes it.
#include <fmt/format.h>

#include <map>
#include <string_view>
#include <utility>

#include "generator/plan/verify/traffic.h"

namespace tilepost {
namespace {

constexpr int kUnit = 8;  // the least rows of a tile that a CTA owns

int box_rows(const Plan& plan) {
  return plan.kernel.box_c.rows;
}

// The value of a tunable; "" if the kernel does not have the tunable.
std::string_view tunable(const Plan& plan, const char* name) {
  const auto found = plan.source.tunables.find(name);
  return found == plan.source.tunables.end() ? std::string_view() : found->second;
}

// The rows of a tile that a CTA of it owns: [first, end).
struct Owned {
  int first, end;
};
Owned owned_by(const Plan& plan, int cta) {
  const int units = plan.map.tile_m / kUnit, ctas = plan.source.split_k;
  return {cta * units / ctas * kUnit, (cta + 1) * units / ctas * kUnit};
}

// Checks kernel and boxes: a kernel that stores parts has warps for it, and stores them in whole
// boxes.
void check_kernel(const Plan& plan, Findings& findings) {
  const int rows = box_rows(plan);
  const bool host = plan.arch == Arch::host;
  if (plan.kernel.launch != (host ? TILEPOST_LAUNCH_HOST : TILEPOST_LAUNCH_TMA) ||
      !plan.source.exchanges_tiles || plan.map.tile_m % kUnit != 0)
    findings.add(fmt::format("kernel {0} with tiles of {1} rows exchanges no tiles",
                             plan.kernel.name, plan.map.tile_m));
  if ((!host && tunable(plan, "HELPER_WARPS").empty()) ||
      tunable(plan, "BOX_M") != std::to_string(rows))
    findings.add(
        fmt::format("a kernel of '{0}' helper warps with boxes of '{1}' rows, the tensor "
                    "map has {2}",
                    tunable(plan, "HELPER_WARPS"), tunable(plan, "BOX_M"), rows));
  const bool lines = plan.shots == TILEPOST_ONE_SHOT_LINES;
  const bool rows_behind = plan.shots == TILEPOST_ONE_SHOT && kernels_normalise(plan);
  if (!host && (tunable(plan, "LENDS") == "1") != (lines || rows_behind))
    findings.add(fmt::format("helper warps {0} panels, of which '{1}' are lent to them",
                             lines         ? "store lines out of"
                             : rows_behind ? "wait for"
                                           : "need no",
                             tunable(plan, "LENDS")));
  for (int cta = 0; cta < plan.source.split_k; ++cta) {
    const Owned owned = owned_by(plan, cta);
    if (rows >= kUnit && rows % kUnit == 0 && owned.first % rows == 0 && owned.end % rows == 0)
      continue;
    return findings.add(
        fmt::format("rows {0} to {1} of a tile, which CTA {2} owns, are no whole "
                    "boxes of {3}",
                    owned.first, owned.end, cta, rows));
  }
}

// Checks the boxes of a kernel that could exchange tiles, in a plan in which it does not. Without
// the tunable the kernel stores all rows that a CTA owns at once, or a unit where not all CTAs own
// equally many. If its tensor map had boxes of fewer rows, TMA would leave out the other rows.
void check_whole_boxes(const Plan& plan, Findings& findings) {
  if (!plan.source.exchanges_tiles || plan.kernel.launch != TILEPOST_LAUNCH_TMA) return;
  const int tile_m = plan.map.tile_m, ctas = plan.source.split_k;
  const std::string owned = std::to_string(tile_m % (kUnit * ctas) == 0 ? tile_m / ctas : kUnit);
  const std::string_view asked = tunable(plan, "BOX_M"), stored = asked.empty() ? owned : asked;
  if (stored != std::to_string(box_rows(plan)))
    findings.add(
        fmt::format("a kernel that stores {0} rows of a tile at once, the tensor map has "
                    "boxes of {1}",
                    stored, box_rows(plan)));
}

// Follows the boxes of one tile column where every rank gets all sums: which box lies where in each
// rank's slots, and how often each rank gets the sum of a box.
class ColumnCheck {
 public:
  ColumnCheck(const Plan& plan, Findings& findings)
      : plan_(plan),
        findings_(findings),
        box_(box_rows(plan)),
        boxes_((plan.map.m + box_ - 1) / box_),
        landed_(boxes_ * plan.ranks, 0),
        slot_(plan.ranks, std::vector<int64_t>(boxes_, -1)) {}

  // Follows the boxes of a tile on every rank. All ranks have the same tiles.
  void tile(const tilepost_tile_t& tile) {
    for (int cta = 0; cta < plan_.source.split_k; ++cta) {
      const Owned owned = owned_by(plan_, cta);
      for (int row = owned.first; row < owned.end; row += box_)
        if (tile.m + row < plan_.map.m) box((tile.m + row) / box_);
    }
  }

  // Checks that every rank has the sum of every row, once.
  void end(int64_t column) {
    for (size_t i = 0; i < landed_.size() && !findings_.full(); ++i)
      if (landed_[i] != 1)
        findings_.add(fmt::format("column {0}: rank {1} gets the sum of rows from {2} on {3} times",
                                  column, i % plan_.ranks, i / plan_.ranks * box_, landed_[i]));
  }

 private:
  void box(int64_t b) {
    const bool twice = plan_.shots == TILEPOST_TWO_SHOT;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      if (twice && b % plan_.ranks != rank) continue;
      const int64_t place = twice ? b / plan_.ranks : b;  // in each of the rank's slots
      if (std::exchange(slot_[rank][place], b) != -1)
        findings_.add(fmt::format("box {0} lies where another does, with rank {1}", b, rank));
      for (int to = 0; to < plan_.ranks; ++to)
        if (twice || to == rank) ++landed_[b * plan_.ranks + to];
    }
  }

  const Plan& plan_;
  Findings& findings_;
  const int box_;
  const int64_t boxes_;
  std::vector<int> landed_;                 // [boxes][ranks]
  std::vector<std::vector<int64_t>> slot_;  // [ranks][place] the box that lies there
};

// Follows boxes where a rank gets its share: which row of every rank's product lies where in each
// rank's slots, and how often that rank has taken it from there. In front of the share a slot has
// room for a box.
class ShareCheck {
 public:
  ShareCheck(const Plan& plan, Findings& findings)
      : plan_(plan),
        findings_(findings),
        box_(box_rows(plan)),
        share_((plan.map.m + plan.ranks - 1) / plan.ranks),
        slot_(plan.ranks, std::vector<int64_t>(box_ + share_, -1)),
        taken_(plan.map.m, 0) {}

  void tile(const tilepost_tile_t& tile) {
    for (int cta = 0; cta < plan_.source.split_k; ++cta) {
      const Owned owned = owned_by(plan_, cta);
      for (int row = owned.first; row < owned.end; row += box_) box(tile.m + row);
      if (plan_.shots == TILEPOST_ONE_SHOT_LINES)
        take(tile.m + owned.first, tile.m + owned.end);
      else
        take_slice(tile.m / plan_.map.tile_m * plan_.source.split_k + cta);
    }
  }

  // Checks that every row is with the rank whose share it is in, once, and has been taken there
  // once.
  void end(int64_t column) {
    for (int64_t row = 0; row < plan_.map.m && !findings_.full(); ++row) {
      const int64_t rank = row / share_;
      const bool there = slot_[rank][box_ + row - rank * share_] == row;
      if (!there || taken_[row] != 1)
        findings_.add(fmt::format("column {0}: rank {1} takes row {2}, which {3}, {4} times",
                                  column, rank, row, there ? "has come" : "has not come",
                                  taken_[row]));
    }
  }

 private:
  int64_t end_of(int rank) const { return std::min((rank + 1) * share_, plan_.map.m); }

  // Stores a box as TMA does: nothing behind the end of a tensor map. A box that begins in front of
  // a tensor map is a fault.
  void box(int64_t first) {
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const int64_t begin = rank * share_, end = end_of(rank);
      if (first >= end || first + box_ <= begin) continue;
      const int64_t to = first - begin + box_;
      if (to < 0) findings_.add(fmt::format("a box from row {0} on begins before a slot", first));
      for (int64_t row = std::max<int64_t>(0, -to); row < box_ && first + row < end; ++row) {
        int64_t& there = slot_[rank][to + row];
        if (to + row >= box_ && std::exchange(there, first + row) != -1)
          findings_.add(
              fmt::format("row {0} lies where another does, with rank {1}", first + row, rank));
      }
    }
  }

  // Rows are taken by the rank whose share they are in.
  void take(int64_t first, int64_t end) {
    for (int64_t row = first; row < std::min(end, plan_.map.m); ++row) ++taken_[row];
  }

  // Every rank's share is cut into as many slices as there are parts in a column.
  void take_slice(int64_t slice) {
    const int64_t tile_rows = (plan_.map.m + plan_.map.tile_m - 1) / plan_.map.tile_m;
    const int64_t slices = tile_rows * plan_.source.split_k;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const int64_t begin = rank * share_, rows = std::max<int64_t>(0, end_of(rank) - begin);
      take(begin + slice * rows / slices, begin + (slice + 1) * rows / slices);
    }
  }

  const Plan& plan_;
  Findings& findings_;
  const int box_;
  const int64_t share_;
  std::vector<std::vector<int64_t>> slot_;  // [ranks][row of a slot] the product's row there
  std::vector<int> taken_;                  // [m]
};

template <class Column>
void follow_columns(const Plan& plan, Findings& findings) {
  std::map<int32_t, Column> columns;
  for (const tilepost_tile_t& tile : plan.tile_map().tiles) {
    if (tile.row < 0) continue;
    const auto column = columns.try_emplace(tile.n, plan, findings).first;
    if (!findings.full()) column->second.tile(tile);
  }
  for (auto& [n, column] : columns) column.end(n);
}

}  // namespace

void verify_exchange_of_tiles(const Plan& plan, Findings& findings) {
  if (plan.access != TILEPOST_ACCESS_TILES) {
    if (plan.shots != TILEPOST_SHOTS_NONE)
      findings.add(
          fmt::format("{0} shots, and no kernels exchange tiles", static_cast<int>(plan.shots)));
    check_whole_boxes(plan, findings);
    return;
  }
  const bool rows = row_of(plan).moves_input();
  if (plan.shots == TILEPOST_SHOTS_NONE) findings.add("kernels exchange tiles in no shot");
  if (!may_exchange_tiles(row_of(plan), plan.routing) ||
      (plan.shots == TILEPOST_TWO_SHOT && !row_of(plan).product_spreads()) ||
      (plan.shots == TILEPOST_ONE_SHOT_LINES && rows))
    findings.add(fmt::format("kernels exchange tiles of {0}, routing {1}, in {2} shots",
                             name_of(plan.pattern), name_of(plan.routing),
                             static_cast<int>(plan.shots)));
  if (plan.ranks < 2 || plan.ranks > TILEPOST_MOST_EXCHANGING)
    findings.add(fmt::format("kernels of {0} ranks exchange tiles, 2 to {1} can", plan.ranks,
                             TILEPOST_MOST_EXCHANGING));
  // Own rows of A are one group, and the rows of all other ranks are another.
  if (plan.cuts().size() != (rows ? 2 : 1) || plan.comm_ctas != 0 || plan.comm_lanes != 1 ||
      plan.task_parts != 0 || plan.consumer == TILEPOST_CONSUMER_UNPERMUTE)
    findings.add(
        fmt::format("kernels exchange tiles, beside {0} groups, {1} CTAs in {2} lanes, "
                    "{3} task parts and consumer {4}",
                    plan.cuts().size(), plan.comm_ctas, plan.comm_lanes, plan.task_parts,
                    name_of(plan.consumer)));
  check_kernel(plan, findings);
}

void follow_tiles(const Plan& plan, Findings& findings) {
  if (row_of(plan).product_leaves())
    follow_columns<ShareCheck>(plan, findings);
  else
    follow_columns<ColumnCheck>(plan, findings);
}

}  // namespace tilepost
