#include "tests/runtime/rank_kernel.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include "tests/runtime/exchange_kernel.h"
#include "tests/runtime/rank_meeting.h"
#include "tilepost/internal/exchange_words.h"
#include "tilepost/internal/task_chunks.h"

namespace ranks {

using fakes::MapOf;

namespace {

MapOf map_of(const void* map) {
  MapOf kept;
  std::memcpy(&kept, map, sizeof kept);
  return kept;
}

bool gathers(const tilepost_plan_t& plan) {
  return tilepost::row_of(plan).moves_input();
}

// The stand-in for the woven kernel. It computes what each tile stores and where, and whose counter
// the tile raises.
class Kernel {
 public:
  Kernel(const Program& program, void** arguments)
      : plan_(program.plan),
        a_(map_of(arguments[0])),
        c_(map_of(arguments[2])),
        shape_(*static_cast<const tilepost_shape_t*>(arguments[3])),
        view_(*static_cast<const tilepost_view_t*>(arguments[5])),
        expected_(view_.tasks.expected),
        done_(view_.num_tiles) {}

  // Where a run is this kernel alone: computes what the counters have to reach.
  void count_run(uint32_t run) {
    const tilepost_exchange_t& exchange = view_.exchange;
    if (gathers(plan_)) {
      parity_ = static_cast<int>(run & 1);
      first_counter_ = parity_ * plan_.map.num_groups;
      place_ = parity_ * exchange.slot_bytes;
    }
    uint32_t& half = exchange.run[4];
    const uint32_t* before = exchange.expected + half * exchange.counters;
    half ^= 1;
    uint32_t* const now = exchange.expected + half * exchange.counters;
    for (int i = 0; i < exchange.counters; ++i) {
      const int own = i - first_counter_;
      now[i] = before[i] + (own >= 0 && own < exchange.num_targets ? exchange.targets[own] : 0);
    }
    expected_ = now;
  }

  void compute_all() {
    for (int i = 0; i < view_.num_tiles; ++i) {
      if (i % 5 == 0) linger();
      compute(view_.tiles[i]);
    }
  }

  // A kernel whose epilogue does everything that crosses ranks. Where the kernel adds up, each of
  // its own tiles waits until every other rank has stored its part. Returns false if a part did not
  // come in time.
  bool compute_fused(uint32_t run, double seconds) {
    for (int i = 0; i < view_.num_tiles; ++i) {
      if (i % 5 == 0) linger();
      const tilepost_tile_t& tile = view_.tiles[i];
      if (tile.row < 0) continue;
      const int owner = tile.m / view_.share_rows;
      if (!tilepost::row_of(plan_).sums) {
        for_elements(tile, [&](int row, int column) { push(tile, row, column, owner); });
        continue;
      }
      if (owner == view_.rank) {
        if (!comes_within(seconds, [&] { return have_stored(tile, run); })) return false;
        for_elements(tile, [&](int row, int column) { add_sources(tile, row, column); });
        continue;
      }
      for_elements(tile, [&](int row, int column) { store(tile, row, column, owner); });
      for (int part = 0; part < plan_.map.signals_per_tile; ++part)
        __atomic_store_n(flags_of(tile, owner, run, part) + view_.rank, run, __ATOMIC_RELEASE);
    }
    return plan_.pushes == 0 || exchange_sums(run, seconds);
  }

  // Computes the tiles whose input has arrived.
  void compute_ready() {
    for (int i = 0; i < view_.num_tiles; ++i) {
      if (done_[i] || !has_arrived(view_.tiles[i].group)) continue;
      done_[i] = true;
      compute(view_.tiles[i]);
    }
  }

  // Computes tiles whose input is pushed by other ranks' tasks. Returns false if some input did not
  // come in time.
  bool compute_pushed(double seconds) {
    const auto all = [&] { return std::ranges::all_of(done_, [](bool done) { return done; }); };
    return comes_within(seconds, [&] {
      compute_ready();
      return all();
    });
  }

  // Does what helper warps do, in the order of the tasks. Tasks whose data is in place already are
  // only waited for, at the end. Returns false if a wait took longer than `seconds`.
  bool do_tasks(double seconds) {
    for (int i = 0; i < view_.tasks.count; ++i) {
      const tilepost_task_t& task = view_.tasks.list[i];
      if (is_in_place(task)) continue;
      if (!comes_within(seconds, [&] { return is_stored(task.waits); })) return false;
      if (task.push < 0 || !fakes::world().pushes_stop) do_task(task);
    }
    return comes_within(seconds, [&] {
      return std::all_of(
          view_.tasks.list, view_.tasks.list + view_.tasks.count,
          [&](const auto& task) { return !is_in_place(task) || is_stored(task.waits); });
    });
  }

  // Keeps the kernel from ending until the host writes `abort`.
  fakes::Hang stopped() const {
    const uint32_t* const abort = plan_.fused ? view_.exchange.abort : view_.tasks.abort;
    return {true, [abort] { return word(abort) != 0; }};
  }

 private:
  // The rows of A that a tile is computed from: rows that have arrived, or this rank's own.
  MapOf input_of(const tilepost_tile_t& tile) const {
    const bool own = tile.group == 0 || plan_.reads_own == 0;
    return own ? a_ : map_of(static_cast<const CUtensorMapImage*>(view_.in_map) + parity_);
  }

  template <class Reached>
  static bool comes_within(double seconds, Reached reached) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (!reached()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return true;
  }

  // Pushed rows come in any order, and a tile may need some of every group up to its own. Where the
  // kernel is launched for each group, the rank's own rows are there before the launch.
  bool has_arrived(int group) const {
    if (group == 0 && plan_.neighbours != 0) return true;
    if (plan_.access != TILEPOST_ACCESS_WRITE)
      return static_cast<int32_t>(word(view_.counters + group * TILEPOST_COUNTER_STRIDE) -
                                  view_.ready) >= 0;
    for (int g = 0; group > 0 && g <= group; ++g)
      if (!is_stored(first_counter_ + g)) return false;
    return true;
  }

  static uint32_t word(const uint32_t* at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

  bool is_stored(int counter) const {
    if (counter < 0) return true;
    const uint32_t stored = word(view_.tasks.stored + counter * TILEPOST_COUNTER_STRIDE);
    return static_cast<int32_t>(stored - expected_[counter]) >= 0;
  }

  bool is_in_place(const tilepost_task_t& task) const {
    const tilepost_tasks_t& tasks = view_.tasks;
    return plan_.task_parts > 1 && task.parts == 1 && tasks.there != nullptr &&
           tasks.there[tasks.rank] == tasks.out;
  }

  bool is_for(const tilepost_task_t& task, int rank) const {
    return task.only < 0 ? rank != view_.tasks.rank : rank == task.only;
  }

  void do_task(const tilepost_task_t& task) const {
    const tilepost_tasks_t& tasks = view_.tasks;
    const auto* from = static_cast<const char*>(tasks.in) + task.from;
    const bool gaps = tasks.row_gap > 0 && task.parts == plan_.task_parts;
    for (int64_t i = 0; i < task.bytes / 2; ++i) {
      const int64_t at = i + (gaps ? i * 2 / tasks.row_bytes * tasks.row_gap / 2 : 0);
      float sum = 0;
      for (int part = 0; part < task.parts; ++part)
        sum += fakes::bf16::read(from + part * tasks.stride, at);
      if (task.only < 0)
        fakes::bf16::write(static_cast<char*>(tasks.out) + place_ + task.to, i, sum);
      for (int rank = 0; rank < tasks.ranks && task.push >= 0; ++rank)
        if (is_for(task, rank))
          fakes::bf16::write(static_cast<char*>(tasks.there[rank]) + place_ + task.push, i, sum);
    }
    const auto count = [&](uint32_t* counters) {
      const int chunk = tilepost::task_chunk_bytes(plan_.kernel.helper_bytes, task.parts);
      __atomic_fetch_add(counters + (first_counter_ + task.counts) * TILEPOST_COUNTER_STRIDE,
                         static_cast<uint32_t>(tilepost::task_chunks(task.bytes, chunk)),
                         __ATOMIC_RELEASE);
    };
    if (task.push < 0 && tasks.done != nullptr) count(tasks.done);
    for (int rank = 0; rank < tasks.ranks && task.push >= 0; ++rank)
      if (is_for(task, rank)) count(tasks.raise[rank]);
  }

  template <class Body>
  void for_elements(const tilepost_tile_t& tile, Body body) const {
    for (int row = 0; row < plan_.map.tile_m; ++row)
      for (int column = 0; column < plan_.map.tile_n; ++column) body(row, tile.n + column);
  }

  uint32_t* flags_of(const tilepost_tile_t& tile, int owner, uint32_t run, int part) const {
    const int row = (tile.m - owner * view_.share_rows) / plan_.map.tile_m;
    const int number = row * view_.tiles_n + tile.n / plan_.map.tile_n;
    return tilepost::exchange_flags(view_.exchange, owner, run, 0,
                                    number * plan_.map.signals_per_tile + part);
  }

  bool have_stored(const tilepost_tile_t& tile, uint32_t run) const {
    for (int part = 0; part < plan_.map.signals_per_tile; ++part)
      for (int rank = 0; rank < plan_.ranks; ++rank)
        if (rank != view_.rank && word(flags_of(tile, view_.rank, run, part) + rank) != run)
          return false;
    return true;
  }

  // Announces to the other ranks that this rank's sums are there, and waits until theirs are here.
  bool exchange_sums(uint32_t run, double seconds) const {
    const int parts = view_.share_tiles * view_.tiles_n * plan_.map.signals_per_tile;
    const int line = tilepost::row_of(plan_).sums ? parts : 0;
    const auto flags = [&](int rank) {
      return tilepost::exchange_flags(view_.exchange, rank, run, 0, line);
    };
    for (int rank = 0; rank < plan_.ranks && !fakes::world().pushes_stop; ++rank)
      if (rank != view_.rank) __atomic_store_n(flags(rank) + view_.rank, run, __ATOMIC_RELEASE);
    return comes_within(seconds, [&] {
      for (int rank = 0; rank < plan_.ranks; ++rank)
        if (rank != view_.rank && word(flags(view_.rank) + rank) != run) return false;
      return true;
    });
  }

  // Stores an element in the output of the rank that gets it.
  void push(const tilepost_tile_t& tile, int row, int column, int owner) const {
    const MapOf to = owner == view_.rank ? c_ : map_of(&view_.push_maps[owner]);
    const int64_t at = tile.m - int64_t{owner} * view_.share_rows + row;
    if (at >= static_cast<int64_t>(to.rows) || column >= static_cast<int>(to.columns)) return;
    fakes::bf16::write(to.base, at * static_cast<int64_t>(to.row_bytes) / 2 + column,
                       value_of(tile, row, column));
  }

  void add_sources(const tilepost_tile_t& tile, int row, int column) const {
    const int64_t at = tile.m - int64_t{view_.rank} * view_.share_rows + row;
    if (at >= static_cast<int64_t>(c_.rows) || column >= static_cast<int>(c_.columns)) return;
    float sum = value_of(tile, row, column);
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      if (rank == view_.rank) continue;
      const MapOf slot = map_of(static_cast<const CUtensorMapImage*>(view_.source_maps) + rank);
      sum += fakes::bf16::read(slot.base, at * static_cast<int64_t>(slot.row_bytes) / 2 + column);
    }
    fakes::bf16::write(c_.base, at * static_cast<int64_t>(c_.row_bytes) / 2 + column, sum);
    for (int rank = 0; rank < plan_.ranks && plan_.pushes != 0; ++rank) {
      if (rank == view_.rank) continue;
      const MapOf to = map_of(&view_.push_maps[rank]);
      fakes::bf16::write(to.base, at * static_cast<int64_t>(to.row_bytes) / 2 + column, sum);
    }
  }

  void compute(const tilepost_tile_t& tile) {
    const bool writes = view_.out_maps != nullptr;
    const int owner = writes ? tile.m / view_.share_rows : 0;
    if (tile.row >= 0)
      for (int row = 0; row < plan_.map.tile_m; ++row)
        for (int column = 0; column < plan_.map.tile_n; ++column)
          store(tile, row, tile.n + column, owner);
    if (gathers(plan_) || (writes && tile.row < 0)) return;
    uint32_t* counters = writes ? view_.peer_counters[owner] : view_.counters;
    __atomic_fetch_add(counters + tile.group * TILEPOST_COUNTER_STRIDE,
                       static_cast<uint32_t>(plan_.map.signals_per_tile), __ATOMIC_RELEASE);
  }

  void store(const tilepost_tile_t& tile, int row, int column, int owner) {
    MapOf to = c_;
    int64_t at = tile.row + row;
    if (view_.out_maps != nullptr) {
      to = map_of(static_cast<const CUtensorMapImage*>(view_.out_maps) + owner);
      at = tile.m - int64_t{owner} * view_.share_rows + row;
      if (to.base != view_.peer_out[owner]) return;
    } else if (view_.row_map != nullptr) {
      if (tile.m + row >= shape_.m) return;
      at = tile.row + view_.row_map[tile.m + row];
    }
    if (at < 0 || at >= static_cast<int64_t>(to.rows) || column >= static_cast<int>(to.columns))
      return;
    const int64_t place = at * static_cast<int64_t>(to.row_bytes) / 2 + column;
    float value = value_of(tile, row, column);
    if (plan_.access == TILEPOST_ACCESS_WRITE && plan_.sum == TILEPOST_SUM_ADDED)
      value += fakes::bf16::read(to.base, place);
    fakes::bf16::write(to.base, place, value);
  }

  float value_of(const tilepost_tile_t& tile, int row_of_tile, int64_t column) const {
    const int64_t row = tile.m + row_of_tile;
    if (row >= shape_.m) return 0;
    if (!gathers(plan_)) return product(self().run, self().rank, row, column);
    const MapOf in = input_of(tile);
    return row < static_cast<int64_t>(in.rows)
               ? fakes::bf16::read(in.base, row * shape_.lda + column % shape_.k)
               : 0;
  }

  struct CUtensorMapImage {
    char bytes[128];
  };

  const tilepost_plan_t& plan_;
  const MapOf a_, c_;
  const tilepost_shape_t shape_;
  const tilepost_view_t view_;
  const uint32_t* expected_;  // what this rank's counters have to reach
  // Where a whole run moves rows of A: its parity, and what follows from the parity.
  int parity_ = 0, first_counter_ = 0;
  int64_t place_ = 0;  // bytes
  std::vector<bool> done_;
};

std::array<tilepost_exchange_t, TILEPOST_MOST_EXCHANGING> last_exchanges;

// Makes additions to one place atomic.
std::mutex add_mutex;

// Executes a kernel that meets the other ranks' kernels by itself and is the whole run.
fakes::Hang run_whole(const std::shared_ptr<Kernel>& kernel, const tilepost_exchange_t& exchange,
                      const tilepost_plan_t& plan, double seconds) {
  const bool fuses = plan.fused != 0, moves_rows = gathers(plan);
  Meeting meeting(exchange);
  meeting.wait_quietly(seconds);
  meeting.begin();
  kernel->count_run(meeting.run());
  const auto goes_through = [&] {
    if (!meeting.follow()) return false;
    if (moves_rows)  // the kernel meets the other ranks last
      return kernel->do_tasks(seconds) && kernel->compute_pushed(seconds) && meeting.meet();
    if (!meeting.meet()) return false;
    if (fuses) return kernel->compute_fused(meeting.run(), seconds);
    kernel->compute_all();
    return kernel->do_tasks(seconds);
  };
  if (goes_through()) {
    meeting.end();
    return {};
  }
  store(exchange.given_up, 1);
  return kernel->stopped();
}

}  // namespace

fakes::Hang run_kernel(const Program& program, void** arguments, double seconds) {
  const auto& exchange = static_cast<const tilepost_view_t*>(arguments[5])->exchange;
  const bool is_whole_run = exchange.ranks != 0;  // some runs of such a plan are not
  if (is_whole_run) last_exchanges[self().rank] = exchange;
  if (is_whole_run && program.plan.whole_run == 0) return run_exchange(program, arguments);
  auto kernel = std::make_shared<Kernel>(program, arguments);
  if (is_whole_run) return run_whole(kernel, exchange, program.plan, seconds);
  if (gathers(program.plan)) {
    if (!kernel->do_tasks(seconds)) return kernel->stopped();
    if (program.plan.access == TILEPOST_ACCESS_WRITE)
      return kernel->compute_pushed(seconds) ? fakes::Hang{} : kernel->stopped();
    // A launch for one group waits for nothing. It computes only tiles whose input has come.
    if (program.plan.neighbours == 0) self().resume = [kernel] { kernel->compute_ready(); };
    kernel->compute_ready();
    return {};
  }
  std::unique_lock<std::mutex> adding(add_mutex, std::defer_lock);
  if (program.plan.sum == TILEPOST_SUM_ADDED) adding.lock();
  kernel->compute_all();
  return kernel->do_tasks(seconds) ? fakes::Hang{} : kernel->stopped();
}

const tilepost_exchange_t& last_exchange(int rank) {
  return last_exchanges[rank];
}

void linger() {
  std::this_thread::sleep_for(std::chrono::microseconds(self().random() % 100));
}

}  // namespace ranks
