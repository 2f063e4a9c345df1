// Routed rows of A on small problems. The runs that the runtime makes of a plan and of routes of
// every kind are played element by element. Each rank must end with its rows in the promised order,
// and no tile may read a row before the row is there.
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <random>

#include "runtime/schedule/run_map.h"
#include "tests/catch.h"
#include "tests/exhaustive/numbers.h"
#include "tests/unit/plan/build_plan.h"

namespace tilepost::test {
namespace {

constexpr int64_t kLeastRuns = 40000;
constexpr double kMostSeconds = 20;  // on one core

// A row of a rank's A.
struct Source {
  int rank;
  int64_t row;
};

// The rank that every row of every rank goes to.
using Destinations = std::vector<std::vector<int32_t>>;  // [ranks][rows of the rank]

// One run on all ranks.
class Player {
 public:
  Player(const Plan& plan, const Destinations& destinations)
      : plan_(plan), destinations_(destinations) {
    for (int rank = 0; rank < plan.ranks; ++rank) expect(rank);
    make_runs();
    for (int rank = 0; rank < plan.ranks; ++rank) {
      const size_t elements = wanted_[rank].size() * static_cast<size_t>(plan.k);
      gathered_.emplace_back(elements, kNever);
      if (runs_[rank]->rows != static_cast<int64_t>(wanted_[rank].size()))
        fault_.say("rank ", rank, " multiplies ", runs_[rank]->rows, " rows");
      if (runs_[rank]->num_groups() != runs_[0]->num_groups())
        fault_.say("ranks have other groups");
    }
  }

  std::string play() {
    for (int g = 0; fault_.none() && g < runs_[0]->num_groups(); ++g) {
      sent_.assign(static_cast<size_t>(plan_.ranks) * plan_.ranks, {});
      announced_.assign(plan_.ranks, false);
      for (int rank = 0; rank < plan_.ranks; ++rank)
        for (const Step& step : runs_[rank]->steps[g]) store(rank, step);
      for (int rank = 0; rank < plan_.ranks; ++rank)
        for (const Step& step : runs_[rank]->steps[g]) take(rank, step);
      if (!std::ranges::all_of(sent_, &std::vector<Step>::empty)) fault_.say("sent in vain");
      for (int rank = 0; rank < plan_.ranks; ++rank) read_tiles(rank, g);
    }
    for (int rank = 0; fault_.none() && rank < plan_.ranks; ++rank) check_end(rank);
    return fault_.text();
  }

 private:
  // Lists the rows that `rank` must get, in the order of the sources, and of each source's rows.
  void expect(int rank) {
    wanted_.emplace_back();
    for (int source = 0; source < plan_.ranks; ++source)
      for (size_t row = 0; row < destinations_[source].size(); ++row)
        if (destinations_[source][row] == rank)
          wanted_.back().push_back({source, static_cast<int64_t>(row)});
  }

  void make_runs() {
    std::vector<int64_t> counts;
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      const auto rows = static_cast<int64_t>(destinations_[rank].size());
      if (plan_.routing == TILEPOST_ROUTING_EVEN) {
        runs_.push_back(make_run_map(plan_, rank, rows));
        continue;
      }
      std::vector<int64_t> splits(plan_.ranks, 0);
      for (const int32_t to : destinations_[rank]) ++splits[to];
      RouteInputs inputs{.rows = rows, .most = rows, .splits = splits, .destinations = {}};
      if (plan_.routing == TILEPOST_ROUTING_ROWS)
        inputs.splits = {}, inputs.destinations = destinations_[rank];
      runs_.push_back(begin_route(plan_, rank, inputs));
      counts.insert(counts.end(), runs_[rank]->own_counts.begin(), runs_[rank]->own_counts.end());
    }
    for (int rank = 0; !counts.empty() && rank < plan_.ranks; ++rank)
      finish_route(plan_, rank, counts, *runs_[rank]);
  }

  // An element of a rank's A, in the order that the steps read.
  Number own(int rank, int64_t at) {
    int64_t row = at / plan_.k;
    if (at < 0 || row >= static_cast<int64_t>(destinations_[rank].size())) {
      fault_.say("rank ", rank, " sends element ", at, " of its A");
      return kNever;
    }
    if (!runs_[rank]->order.empty()) row = runs_[rank]->order[row];
    return number(rank, row, at % plan_.k);
  }

  void write(int source, int64_t from, int rank, int64_t to, int64_t count) {
    std::vector<Number>& all = gathered_[rank];
    for (int64_t i = 0; i < count && fault_.none(); ++i) {
      if (to + i < 0 || to + i >= static_cast<int64_t>(all.size()) || all[to + i] != kNever)
        return fault_.say("rank ", rank, " gets element ", to + i, " twice or outside");
      all[to + i] = own(source, from + i);
    }
  }

  std::vector<Step>& sent(int from, int to) { return sent_[from * plan_.ranks + to]; }

  // Carries out a step that needs no other rank.
  void store(int rank, const Step& step) {
    switch (step.kind) {
      case StepKind::own_rows:
        return write(rank, step.from, rank, step.to, step.count);
      case StepKind::send_own_rows:
        return sent(rank, step.peer).push_back(step);
      case StepKind::push_rows:
        if (announced_[rank] || step.peer == rank) fault_.say("rank ", rank, " pushes too late");
        write(rank, step.from, step.peer, step.to, step.count);
        return sent(rank, step.peer).push_back(step);
      case StepKind::announce:
        announced_[rank] = true;
        return;
      case StepKind::receive_rows:
      case StepKind::landed_rows:
        return;
      default:
        fault_.say("rank ", rank, " does something else");
    }
  }

  void take(int rank, const Step& step) {
    const bool landed = step.kind == StepKind::landed_rows;
    if (!landed && step.kind != StepKind::receive_rows) return;
    std::vector<Step>& from = sent(step.peer, rank);
    if (from.empty() || from.front().count != step.count ||
        (landed && (from.front().to != step.to || !announced_[step.peer])))
      return fault_.say("rank ", rank, " takes what ", step.peer, " does not send");
    if (!landed) write(step.peer, from.front().from, rank, step.to, step.count);
    from.erase(from.begin());
  }

  void read_tiles(int rank, int g) {
    const RunMap& run = *runs_[rank];
    const tilepost_group_t& group = run.tiles.groups[g];
    for (int t = group.first_tile; t < group.first_tile + group.num_tiles; ++t) {
      const tilepost_tile_t& tile = run.tiles.tiles[t];
      if (tile.row < 0) continue;
      const int64_t end = std::min<int64_t>(int64_t{tile.m} + plan_.map.tile_m, run.rows);
      for (int64_t i = tile.m * plan_.k; i < end * plan_.k && fault_.none(); ++i) {
        const Source& source = wanted_[rank][i / plan_.k];
        if (gathered_[rank][i] != number(source.rank, source.row, i % plan_.k))
          fault_.say("rank ", rank, ", position ", t, " reads row ", i / plan_.k, " too early");
      }
      if (tile.row != tile.m) fault_.say("rank ", rank, ": a tile is moved");
    }
  }

  // Checks that the schedule has as many tiles as the product, and none twice.
  void check_end(int rank) {
    const RunMap& run = *runs_[rank];
    const int64_t columns = (plan_.map.n + plan_.map.tile_n - 1) / plan_.map.tile_n;
    std::vector<std::pair<int32_t, int32_t>> tiles;
    for (const tilepost_tile_t& tile : run.tiles.tiles)
      if (tile.row >= 0) tiles.emplace_back(tile.m, tile.n);
    std::ranges::sort(tiles);
    const int64_t rows = (run.rows + plan_.map.tile_m - 1) / plan_.map.tile_m;
    if (static_cast<int64_t>(tiles.size()) != rows * columns ||
        std::ranges::adjacent_find(tiles) != tiles.end())
      fault_.say("rank ", rank, " computes ", tiles.size(), " tiles");
    if (std::ranges::count(gathered_[rank], kNever) != 0) fault_.say("rank ", rank, " misses rows");
  }

  const Plan& plan_;
  const Destinations& destinations_;
  Fault fault_;
  std::vector<std::unique_ptr<RunMap>> runs_;
  std::vector<std::vector<Source>> wanted_;    // for each rank and row of its output
  std::vector<std::vector<Number>> gathered_;  // [ranks][rows * k]
  std::vector<std::vector<Step>> sent_;        // [from][to], in the current group
  std::vector<bool> announced_;
};

class Sweep {
 public:
  int64_t runs() const { return runs_; }

  // Plays every transport and routing, and several ways to cut. Plans are for any m, so that ranks
  // may have fewer rows.
  void problem(SmallPlan small) {
    for (const tilepost_routing_t routing :
         {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
      small.routing = routing;
      small.m = routing == TILEPOST_ROUTING_EVEN
                    ? (small.rows_sent + small.ranks - 1) / small.ranks * small.ranks
                    : 1 + below(small.ranks * small.rows_sent);
      small.overlaps = false, small.access = TILEPOST_ACCESS_MESSAGES;
      small.division = TILEPOST_DIVISION_ROWS;
      small.cuts = {static_cast<int32_t>((small.m + small.tile_m - 1) / small.tile_m)};
      play(small);
      small.overlaps = small.ranks > 1, small.division = TILEPOST_DIVISION_ARRIVALS;
      for (const tilepost_access_t access :
           {TILEPOST_ACCESS_MESSAGES, TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE}) {
        if (access == TILEPOST_ACCESS_WRITE && routing != TILEPOST_ROUTING_EVEN) continue;
        small.access = access;
        for (int i = 0; small.overlaps && i < 3; ++i) {
          small.cuts = some_cuts(small);
          play(small);
        }
      }
    }
  }

 private:
  int64_t below(int64_t bound) { return static_cast<int64_t>(random_() % bound); }

  std::vector<int32_t> some_cuts(const SmallPlan& small) {
    const int64_t share = (small.m + small.ranks - 1) / small.ranks;
    const int64_t end = (share + small.tile_m - 1) / small.tile_m *
                        (small.access == TILEPOST_ACCESS_READ ? small.ranks - 1 : 1);
    std::vector<int32_t> cuts = {0};
    for (int32_t cut = 1; cut < end; ++cut)
      if (below(3) == 0) cuts.push_back(cut);
    cuts.push_back(static_cast<int32_t>(end));
    return cuts;
  }

  void play(const SmallPlan& small) {
    Plan plan = build_plan(small);
    const std::vector<std::string> found = verify_plan(plan);
    if (!found.empty()) FAIL(describe(plan) << ": " << found.front());
    plan.any_m = 1;
    for (int kind = 0; kind < 3; ++kind) {
      const Destinations destinations = route(plan, kind);
      ++runs_;
      const std::string wrong = Player(plan, destinations).play();
      if (!wrong.empty()) FAIL(describe(plan) << ", route " << kind << ": " << wrong);
    }
  }

  // Kind 0: every rank sends all rows to random ranks, as far as these have room. Kind 1: one rank
  // gets rows first, until it has no room. Kind 2: ranks have fewer rows, some have none, and some
  // get nothing.
  Destinations route(const Plan& plan, int kind) {
    Destinations all(plan.ranks);
    std::vector<int64_t> room(plan.ranks, plan.map.m);
    const int first = static_cast<int>(below(plan.ranks));
    const int64_t even_rows = kind == 0 ? plan.rows_sent : 1 + below(plan.rows_sent);
    for (std::vector<int32_t>& own : all) {
      const int64_t rows = kind == 2 ? below(plan.rows_sent + 1) : plan.rows_sent;
      if (plan.routing == TILEPOST_ROUTING_EVEN) {
        const int64_t share = (even_rows + plan.ranks - 1) / plan.ranks;
        for (int64_t row = 0; row < even_rows; ++row)
          own.push_back(static_cast<int32_t>(row / share));
        continue;
      }
      for (int64_t row = 0; row < rows; ++row) {
        int to = kind == 1 ? first : static_cast<int>(below(kind == 2 ? first + 1 : plan.ranks));
        for (int other = 0; other < plan.ranks && room[to] == 0; ++other)
          to = (to + 1) % plan.ranks;
        if (room[to] == 0) break;
        --room[to];
        own.push_back(to);
      }
      if (plan.routing == TILEPOST_ROUTING_SPLITS) std::ranges::sort(own);
    }
    return all;
  }

  static std::string describe(const Plan& plan) {
    std::string text = std::string(name_of(plan.planned_transport)) + ", routing " +
                       name_of(plan.routing) + ", " + std::to_string(plan.ranks) + " ranks of " +
                       std::to_string(plan.rows_sent) + " rows, at most " +
                       std::to_string(plan.map.m) + " for one, tiles of " +
                       std::to_string(plan.map.tile_m) + ", cuts";
    for (const int32_t cut : plan.cuts()) text += " " + std::to_string(cut);
    return text;
  }

  std::mt19937 random_{1};
  int64_t runs_ = 0;
};

TEST_CASE("rows of A arrive where their routes say, before they are read") {
  const std::clock_t begin = std::clock();
  Sweep sweep;
  SmallPlan small;
  small.pattern = TILEPOST_ALL_TO_ALL_GEMM;
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const int64_t sent : {1, 2, 3, 5, 8, 9, 12, 17, 25})
      for (const int64_t n : {1, 6})
        for (const int tile_m : {1, 2, 3, 4})
          for (const int cluster : {1, 2, 4}) {
            small.ranks = ranks, small.rows_sent = sent, small.n = n;
            small.tile_m = tile_m, small.tile_n = 4;
            small.cluster = cluster, small.gemm_ctas = cluster;
            small.band = 1 + static_cast<int>(sent + n) % 4;
            sweep.problem(small);
          }
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%lld runs of routed rows played in %.1f s\n", static_cast<long long>(sweep.runs()),
              seconds);
  REQUIRE(sweep.runs() >= kLeastRuns);
  REQUIRE(seconds < kMostSeconds);
}

}  // namespace
}  // namespace tilepost::test
