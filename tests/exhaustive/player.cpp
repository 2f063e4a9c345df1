#include "tests/exhaustive/world.h"

#include <algorithm>

#include "tests/exhaustive/shared_world.h"

namespace tilepost::test {
namespace {

// One rank's memory and tables.
struct Rank {
  std::vector<int32_t> cuts;
  Exchange exchange{};
  TileMap map;
  Route route;
  std::vector<Number> send, out;
  std::vector<std::vector<Step>> steps;  // indexed by group
};

class Player {
 public:
  explicit Player(const World& world)
      : world_(world),
        input_(world.gathers() ? world.input() : World::Input{}),
        ranks_(world.ranks),
        shared_(world, input_, fault_) {
    for (int rank = 0; rank < world.ranks; ++rank) prepare(rank);
    counts_ = RowCounts(world.ranks, 1);
    if (world.row().routes()) exchange_counts();
    for (int rank = 0; rank < world.ranks; ++rank) allocate(rank);
    for (Rank& rank : ranks_) shared_.add_rank({&rank.steps, &rank.out});
  }

  std::string play() {
    const bool gathers = world_.gathers();
    for (size_t g = 0; g < world_.cuts.size() && fault_.none(); ++g) {
      for (int rank = 0; rank < world_.ranks && !gathers; ++rank) compute(rank, g);
      if (shares_memory())
        shared_.group(static_cast<int>(g));
      else
        communicate(g);
      for (int rank = 0; rank < world_.ranks && gathers; ++rank) read_rows(rank, g);
    }
    for (int rank = 0; rank < world_.ranks && fault_.none(); ++rank)
      gathers ? check_positions(rank) : check_out(rank);
    for (int rank = 0; rank < world_.ranks && shares_memory() && !gathers; ++rank)
      check_counters(rank);
    return fault_.text();
  }

 private:
  template <class... Words>
  void fail(const Words&... words) {
    fault_.say(words...);
  }

  bool shares_memory() const {
    return world_.overlaps && world_.access != TILEPOST_ACCESS_MESSAGES;
  }
  bool panel() const { return world_.layout == TILEPOST_PANEL; }
  int64_t width() const { return panel() ? world_.n : world_.tile_n; }
  int64_t columns() const { return panel() ? 1 : (world_.n + world_.tile_n - 1) / world_.tile_n; }
  int64_t own_rows(int rank) const { return world_.own_rows(rank); }
  // The rows of the product.
  int64_t rows(int rank) const {
    return world_.gathers() ? static_cast<int64_t>(input_.gathered[rank].size()) / world_.k
                            : world_.rows(rank);
  }

  void prepare(int rank) {
    Rank& self = ranks_[rank];
    tilepost_map_t map = world_.map();
    map.m = rows(rank);
    self.cuts = world_.cuts;
    if (world_.division == TILEPOST_DIVISION_ROWS && panel())
      for (int32_t& cut : self.cuts)
        cut = std::min<int32_t>(cut, static_cast<int32_t>((map.m + map.tile_m - 1) / map.tile_m));
    map.cuts = self.cuts.data();
    self.exchange = {world_.pattern,  world_.routing, world_.ranks, world_.k,
                     world_.overlaps, world_.access,  map,          world_.pushes};
    const bool shares = world_.division == TILEPOST_DIVISION_SHARES;
    MapInputs inputs{.rank = rank, .splits = {}};
    if (shares && !world_.splits.empty()) inputs.splits = world_.splits[rank];
    std::vector<int64_t> arriving;
    if (world_.row().input_is_routed())
      for (const World::Piece& piece : input_.pieces[rank]) arriving.push_back(piece.rows);
    if (world_.division == TILEPOST_DIVISION_ARRIVALS) inputs.splits = arriving;
    self.map = build_tile_map(map, inputs);
  }

  void exchange_counts() {
    for (int source = 0; source < world_.ranks && world_.row().input_is_routed(); ++source)
      for (int rank = 0; rank < world_.ranks; ++rank)
        counts_.at(source, 0, rank) = input_.pieces[rank][source].rows;
    for (int rank = 0; rank < world_.ranks && world_.row().product_is_routed(); ++rank) {
      Route& route = ranks_[rank].route;
      if (world_.routing == TILEPOST_ROUTING_EVEN) {
        counts_ = even_counts(ranks_[rank].exchange);
        continue;
      }
      route = make_route(
          ranks_[rank].exchange,
          world_.splits.empty() ? std::span<const int64_t>{} : world_.splits[rank],
          world_.destinations.empty() ? std::span<const int32_t>{} : world_.destinations[rank]);
      if (rank == 0)
        counts_ = RowCounts(world_.ranks, static_cast<int>(route.counts.size()) / world_.ranks);
      if (route.counts.size() != counts_.of(rank).size()) return fail("ranks have other groups");
      std::copy(route.counts.begin(), route.counts.end(), counts_.of(rank).begin());
    }
  }

  void allocate(int rank) {
    Rank& self = ranks_[rank];
    const bool gathers = world_.gathers();
    const int64_t sent = gathers ? 0 : send_buffer_elements(self.exchange, self.map);
    if (!gathers && sent < self.map.send_elements) fail("the send buffer is too small");
    const int64_t received = gathers ? static_cast<int64_t>(input_.gathered[rank].size())
                                     : received_elements(self.exchange, self.map, rank, counts_);
    self.send.assign(static_cast<size_t>(sent), kNever);
    shared_.allocate_send(rank, sent);
    self.out.assign(static_cast<size_t>(received), kNever);
    for (int g = 0; g < static_cast<int>(world_.cuts.size()); ++g)
      self.steps.push_back(steps_of(self.exchange, self.map, g, rank, counts_));
  }

  // Stores the tiles of a group as a kernel does. It stores whole tiles, and clips them at the
  // product's edges only where rows keep their place.
  void compute(int rank, size_t g) {
    Rank& self = ranks_[rank];
    const tilepost_group_t& group = self.map.groups[g];
    for (int t = group.first_tile; t < group.first_tile + group.num_tiles; ++t) {
      const tilepost_tile_t& tile = self.map.tiles[t];
      if (tile.group != static_cast<int>(g)) return fail("position ", t, " is of another group");
      if (shares_memory()) shared_.post(rank, tile);
      if (tile.row < 0) continue;
      for (int r = 0; r < world_.tile_m; ++r)
        for (int c = 0; c < world_.tile_n; ++c) store(rank, tile, r, c);
    }
  }

  void store(int rank, const tilepost_tile_t& tile, int r, int c) {
    Rank& self = ranks_[rank];
    const int64_t m = int64_t{tile.m} + r, n = int64_t{tile.n} + c;
    const bool inside = m < world_.rows(rank) && n < world_.n;
    const bool routed = !self.route.row_map.empty();
    const bool in_place = world_.division == TILEPOST_DIVISION_ROWS && panel();
    if (!inside && (panel() ? n >= world_.n || in_place : routed)) return;
    const int64_t row = int64_t{tile.row} + (routed ? self.route.row_map[m] : r);
    const int64_t at = panel() ? row * world_.n + n : row * world_.tile_n + c;
    const Number value = inside ? number(rank, m, n) : kAnything;
    if (shares_memory()) return shared_.store(rank, tile, at, m, n, value);
    if (at < 0 || at >= static_cast<int64_t>(self.send.size()))
      return fail("rank ", rank, " stores (", m, ", ", n, ") outside the send buffer");
    if (self.send[at] != kNever) return fail("rank ", rank, " stores twice at ", at);
    self.send[at] = value;
  }

  // Carries out all steps of a group. A receive gets what was there before any step.
  void communicate(size_t g) {
    for (int rank = 0; rank < world_.ranks; ++rank) {
      std::vector<size_t> sends(world_.ranks, 0);  // sends used so far, by source
      size_t call = 0;                             // collective calls so far
      for (const Step& step : ranks_[rank].steps[g]) {
        if (!fault_.none()) return;
        switch (step.kind) {
          case StepKind::receive:
          case StepKind::receive_rows:
            receive(g, rank, step, sends[step.peer]++);
            break;
          case StepKind::send:
          case StepKind::send_rows:
          case StepKind::send_own_rows:
            if (count_sends(g, rank, step.peer) != count_receives(g, step.peer, rank))
              fail("rank ", rank, " sends what ", step.peer, " does not receive");
            break;
          case StepKind::own_rows:
            for (int64_t i = 0; i < step.count; ++i)
              write(rank, step.to + i, brought(rank, step.from + i));
            break;
          default:
            collective(g, rank, step, call++);
        }
      }
    }
  }

  static bool is_send(StepKind kind) {
    return kind == StepKind::send || kind == StepKind::send_rows || kind == StepKind::send_own_rows;
  }

  int64_t count_sends(size_t g, int rank, int peer) const {
    return std::ranges::count_if(ranks_[rank].steps[g], [&](const Step& step) {
      return is_send(step.kind) && step.peer == peer;
    });
  }

  int64_t count_receives(size_t g, int rank, int peer) const {
    return std::ranges::count_if(ranks_[rank].steps[g], [&](const Step& step) {
      return (step.kind == StepKind::receive || step.kind == StepKind::receive_rows) &&
             step.peer == peer;
    });
  }

  // Element i of what the step of `source` sends.
  Number sent(int source, const Step& step, int64_t i) {
    if (step.kind == StepKind::send) return read(source, step.from + i);
    return step.kind == StepKind::send_rows ? own_number(source, step.from + i)
                                            : brought(source, step.from + i);
  }

  void receive(size_t g, int rank, const Step& step, size_t index) {
    for (const Step& sending : ranks_[step.peer].steps[g]) {
      if (!is_send(sending.kind) || sending.peer != rank) continue;
      if (index-- > 0) continue;
      const bool rows = sending.kind != StepKind::send;
      if (sending.count != step.count || rows != (step.kind == StepKind::receive_rows))
        return fail("rank ", rank, " receives another count, or other rows");
      for (int64_t i = 0; i < step.count; ++i)
        write(rank, step.to + i, sent(step.peer, sending, i));
      return;
    }
    fail("rank ", rank, " receives what ", step.peer, " does not send");
  }

  void collective(size_t g, int rank, const Step& step, size_t call) {
    std::vector<const Step*> calls;
    for (const Rank& other : ranks_) {
      size_t index = 0;
      for (const Step& s : other.steps[g])
        if (s.kind == step.kind && index++ == call) calls.push_back(&s);
      if (calls.empty() || calls.back()->count != step.count)
        return fail("rank ", rank, " calls a collective alone");
    }
    if (static_cast<int>(calls.size()) != world_.ranks) return fail("a collective misses ranks");
    if (step.kind == StepKind::all_gather) {
      for (int64_t i = 0; i < step.count * world_.ranks; ++i) {
        const int source = static_cast<int>(i / step.count);
        if (source != rank)
          write(rank, step.to + i, own_number(source, calls[source]->from + i % step.count));
      }
      return;
    }
    const bool scatters = step.kind == StepKind::reduce_scatter;
    read(rank, step.from);  // the call reads all of it, though it does not keep all
    read(rank, step.from + step.count * (scatters ? world_.ranks : 1) - 1);
    for (int64_t i = 0; i < (scatters ? step.keep : step.count); ++i) {
      Number sum = 0;
      for (int source = 0; source < world_.ranks; ++source)
        sum += read(source, calls[source]->from + (scatters ? rank * step.count : 0) + i);
      write(rank, step.to + i, sum);
    }
  }

  Number read(int rank, int64_t at) {
    if (at >= 0 && at < static_cast<int64_t>(ranks_[rank].send.size()))
      return ranks_[rank].send[at];
    fail("rank ", rank, " sends from outside, ", at);
    return kNever;
  }

  // An element of `gathered` on its owner, which has copied it before anything is sent.
  Number own_number(int rank, int64_t at) {
    const int64_t row = at / world_.k;
    if (at >= 0 && input_.pieces[rank][rank].has(row)) return input_.gathered[rank][at];
    fail("rank ", rank, " sends row ", row, ", which is not its own");
    return kNever;
  }

  // An element of A that a rank brings.
  Number brought(int rank, int64_t at) {
    const std::vector<Number>& a = input_.brought[rank];
    if (at >= 0 && at < static_cast<int64_t>(a.size())) return a[at];
    fail("rank ", rank, " reads its A at ", at, " of ", a.size());
    return kNever;
  }

  void write(int rank, int64_t at, Number value) {
    std::vector<Number>& out = ranks_[rank].out;
    if (at < 0 || at >= static_cast<int64_t>(out.size()))
      return fail("rank ", rank, " receives at ", at, " of ", out.size());
    if (out[at] != kNever) return fail("rank ", rank, " receives twice at ", at);
    out[at] = value;
  }

  // Where rows of A gather: checks that the rows which the group's tiles read have come. Groups
  // before it have come too, because posts of one stream come in order.
  void read_rows(int rank, size_t g) {
    const Rank& self = ranks_[rank];
    const tilepost_group_t& group = self.map.groups[g];
    for (int t = group.first_tile; t < group.first_tile + group.num_tiles; ++t) {
      const tilepost_tile_t& tile = self.map.tiles[t];
      const int64_t end = std::min<int64_t>(int64_t{tile.m} + world_.tile_m, rows(rank));
      for (int64_t i = tile.m * world_.k; i < end * world_.k; ++i)
        if (self.out[i] != input_.gathered[rank][i])
          return fail("rank ", rank, ", position ", t, " reads row ", i / world_.k, " too early");
    }
  }

  // Where rows of A gather: checks that every element of the product is computed once, in its
  // place, and that all rows have come in the end.
  void check_positions(int rank) {
    const int64_t rows = this->rows(rank);
    if (ranks_[rank].out != input_.gathered[rank]) fail("rank ", rank, " lacks rows of A");
    std::vector<int> times(static_cast<size_t>(rows * world_.n), 0);
    for (const tilepost_tile_t& tile : ranks_[rank].map.tiles) {
      if (tile.row < 0) continue;
      if (tile.row != tile.m) return fail("rank ", rank, ": a tile is moved");
      for (int64_t m = tile.m; m < std::min<int64_t>(int64_t{tile.m} + world_.tile_m, rows); ++m)
        for (int64_t n = tile.n; n < std::min<int64_t>(int64_t{tile.n} + world_.tile_n, world_.n);
             ++n)
          ++times[m * world_.n + n];
    }
    if (std::any_of(times.begin(), times.end(), [](int count) { return count != 1; }))
      fail("rank ", rank, " does not compute every element once");
  }

  Number sum(int64_t m, int64_t n) const {
    Number all = 0;
    for (int rank = 0; rank < world_.ranks; ++rank) all += number(rank, m, n);
    return all;
  }

  // The output that the pattern promises. Padding is kAnything.
  std::vector<Number> expected(int rank) const {
    std::vector<Number> out;
    const auto row_of = [&](int source, int64_t m, int64_t column) {
      for (int64_t n = column * width(); n < (column + 1) * width(); ++n)
        out.push_back(n >= world_.n || m < 0 ? kAnything
                      : source < 0           ? sum(m, n)
                                             : number(source, m, n));
    };
    if (world_.pattern == TILEPOST_GEMM_REDUCE_SCATTER) {
      const int64_t own = own_rows(rank);
      for (int64_t column = 0; column < columns(); ++column)
        for (int64_t i = 0; i < (panel() ? own : world_.share()); ++i)
          row_of(-1, i < own ? rank * world_.share() + i : -1, column);
      return out;
    }
    for (int source = 0; source < world_.ranks; ++source)
      for (int64_t column = 0; column < columns(); ++column)
        for (int64_t m = 0; m < world_.rows(source); ++m)
          if (world_.destination(source, m) == rank) row_of(source, m, column);
    return out;
  }

  void check_counters(int rank) {
    const Rank& self = ranks_[rank];
    const std::vector<uint32_t> targets = counter_targets(self.exchange, self.map, rank);
    for (size_t g = 0; g < world_.cuts.size(); ++g)
      if (targets[g] != shared_.posted(rank, static_cast<int>(g)))
        fail("rank ", rank, " waits for ", targets[g], " posts in group ", g, ", there are ",
             shared_.posted(rank, static_cast<int>(g)));
  }

  // AllReduce: the sums, at the places where the tile table has the products.
  std::vector<Number> expected_sums(int rank) const {
    const Rank& self = ranks_[rank];
    std::vector<Number> out(self.out.size(), kAnything);
    if (shares_memory()) {
      out.clear();
      for (int64_t i = 0; i < world_.m * world_.n; ++i)
        out.push_back(sum(i / world_.n, i % world_.n));
      return out;
    }
    const int64_t tiles_n = (world_.n + world_.tile_n - 1) / world_.tile_n;
    for (int64_t m = 0; m < world_.m; ++m)
      for (int64_t n = 0; n < world_.n; ++n) {
        const int64_t index = m / world_.tile_m * tiles_n + n / world_.tile_n;
        const int64_t row = self.map.tiles[self.map.positions[index]].row + m % world_.tile_m;
        out[panel() ? row * world_.n + n : row * world_.tile_n + n % world_.tile_n] = sum(m, n);
      }
    return out;
  }

  void check_out(int rank) {
    const std::vector<Number>& out = ranks_[rank].out;
    const bool reduces = world_.pattern == TILEPOST_GEMM_ALL_REDUCE;
    if (world_.pattern == TILEPOST_GEMM) return;
    const std::vector<Number> want = reduces ? expected_sums(rank) : expected(rank);
    if (out.size() != want.size())
      return fail("rank ", rank, " receives ", out.size(), " elements, not ", want.size());
    for (size_t i = 0; i < out.size(); ++i)
      if (want[i] != kAnything && out[i] != want[i])
        return fail("rank ", rank, ": element ", i, " of out is wrong");
  }

  const World& world_;
  const World::Input input_;
  std::vector<Rank> ranks_;
  RowCounts counts_;
  Fault fault_;
  SharedWorld shared_;
};

}  // namespace

std::string play(const World& world) {
  return Player(world).play();
}

}  // namespace tilepost::test
