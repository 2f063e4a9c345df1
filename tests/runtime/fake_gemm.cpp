#include "tests/runtime/fake_gemm.h"

#include <algorithm>
#include <map>
#include <set>

#include "tests/runtime/fake_ranks.h"
#include "tilepost/internal/timeline_words.h"
#include "tilepost/plan.h"

namespace fakes {
namespace {

// Makes the stream hang until the groups of all tiles of the GEMM have arrived.
void wait_for_arrivals(const tilepost_view_t& view, Stream& stream) {
  std::set<int> groups;
  for (int i = 0; i < view.num_tiles; ++i) groups.insert(view.tiles[i].group);
  const bool tokens = view.token_tiles != nullptr && view.tasks.stored != nullptr;
  const bool pushed = view.tasks.there != nullptr || tokens;
  const auto arrived = [view, groups, pushed] {
    const uint32_t* counters = pushed ? view.tasks.stored : view.counters;
    for (const int group : groups) {
      const uint32_t target = pushed ? view.tasks.expected[group] : view.ready;
      if (static_cast<int32_t>(counters[group * TILEPOST_COUNTER_STRIDE] - target) < 0)
        return false;
    }
    return true;
  };
  if (world().gemm_stops)
    stream.hang = {true, {}};
  else if (!arrived() && !stream.hang.holds())
    stream.hang = {true, arrived};
}

// Begins a run that is one kernel: counts the run and writes that all other ranks have begun it
// too. Counts a replay as begun even if it does not end. Returns what the counters have to reach.
const uint32_t* begin_whole_run(const tilepost_exchange_t& exchange) {
  const uint32_t run = exchange.run[0] + 1;
  exchange.run[0] = run;
  exchange.run[2] = exchange.kind;
  for (int rank = 0; rank < exchange.ranks; ++rank)
    ranks::tell_run(reinterpret_cast<uint32_t*>(exchange.memory[exchange.rank] + exchange.begun) +
                        rank * TILEPOST_COUNTER_STRIDE,
                    run,
                    {exchange.words[0], exchange.words[1], exchange.words[2], exchange.words[3]});
  if (exchange.replays != nullptr) {
    exchange.replays[2] = exchange.replayed;
    ++exchange.replays[0];
  }
  const uint32_t* const before = exchange.expected + exchange.run[4] * exchange.counters;
  exchange.run[4] ^= 1;
  uint32_t* const now = exchange.expected + exchange.run[4] * exchange.counters;
  for (int i = 0; i < exchange.counters; ++i)
    now[i] = before[i] + (i < exchange.num_targets ? exchange.targets[i] : 0);
  return now;
}

// Every tile raises a counter of its owner. A padding tile has no owner.
void post_to_owners(const tilepost_view_t& view) {
  std::map<uint32_t*, uint32_t> signals;
  for (int i = 0; i < view.num_tiles; ++i) {
    const tilepost_tile_t& tile = view.tiles[i];
    if (tile.row < 0) continue;
    uint32_t* counters = view.peer_counters[tile.m / view.share_rows];
    signals[counters + tile.group * TILEPOST_COUNTER_STRIDE] += world().signals_per_tile;
  }
  for (const auto& [counter, count] : signals) *counter += count * world().gemm_posts_percent / 100;
}

// As a kernel of --timestamps does.
void stamp_tiles(const tilepost_view_t& view) {
  for (int i = 0; i < view.num_tiles; ++i) {
    const tilepost_tile_t& tile = view.tiles[i];
    uint32_t* const line = view.counters + tile.group * TILEPOST_COUNTER_STRIDE;
    if (tile.row >= 0) reinterpret_cast<uint64_t*>(line)[tilepost::kTilesEnd] = tick();
  }
}

// Tasks without data. The other ranks do what this one does, so what it pushes is pushed here too.
class Tasks {
 public:
  Tasks(const tilepost_tasks_t& tasks, const uint32_t* expected)
      : tasks_(tasks), expected_(expected) {
    for (int i = 0; i < tasks.count; ++i) {
      const tilepost_task_t& task = tasks.list[i];
      if (task.push >= 0) pushed_.insert(task.counts);
      if (task.push < 0 && tasks.done != nullptr) done_.insert(task.counts);
    }
    for (int i = 0; i < tasks.count; ++i)
      if (const int counter = tasks.list[i].waits; counter >= 0 && !pushed_.contains(counter))
        awaited_.insert(counter);
  }

  // Whether the tiles that the tasks wait for have come.
  bool can_end() const {
    return std::ranges::all_of(awaited_, [&](int counter) {
      return static_cast<int32_t>(tasks_.stored[counter * TILEPOST_COUNTER_STRIDE] -
                                  expected_[counter]) >= 0;
    });
  }
  bool given_up() const { return __atomic_load_n(tasks_.abort, __ATOMIC_ACQUIRE) != 0; }

  // Counts more chunks as done than any wait needs. Where the counters of tiles count them, it
  // counts exactly as many as are expected.
  void end() const {
    constexpr uint32_t kMost = 1u << 30;
    for (const int counter : pushed_)
      tasks_.raise[tasks_.rank][counter * TILEPOST_COUNTER_STRIDE] = expected_[counter];
    for (const int counter : done_)
      tasks_.done[counter * TILEPOST_COUNTER_STRIDE] =
          tasks_.done == tasks_.stored ? expected_[counter] : kMost;
  }

 private:
  tilepost_tasks_t tasks_;
  const uint32_t* expected_;
  std::set<int> awaited_, pushed_, done_;
};

// Makes the stream hang until the tasks can end or the host gives them up.
void do_tasks(const tilepost_tasks_t& list, const uint32_t* expected, Stream& stream) {
  const Tasks tasks(list, expected);
  if (tasks.can_end()) return tasks.end();
  if (stream.hang.holds()) return;
  stream.hang = {true, [tasks] {
                   if (tasks.given_up()) return true;
                   if (tasks.can_end()) tasks.end();
                   return tasks.can_end();
                 }};
}

}  // namespace

// The view is the last of six arguments, whether a kernel takes tensor maps or pointers.
void post_tiles(void** arguments, Stream& stream) {
  const auto& view = *static_cast<const tilepost_view_t*>(arguments[5]);
  World& w = world();
  w.view = view;
  w.shape = *static_cast<const tilepost_shape_t*>(arguments[3]);
  w.epilogue = *static_cast<const tilepost_epilogue_t*>(arguments[4]);
  w.a = *static_cast<const void**>(arguments[0]);
  w.b = *static_cast<const void**>(arguments[1]);
  w.out = *static_cast<const void**>(arguments[2]);
  if (w.gemm_stamps) stamp_tiles(view);
  if (w.gemm_waits) {
    if (!w.gemm_stops) do_tasks(view.tasks, view.tasks.expected, stream);
    return wait_for_arrivals(view, stream);
  }
  if (!w.gemm_raises) return;
  if (view.peer_counters != nullptr) {
    const uint32_t* const expected =
        view.exchange.ranks != 0 ? begin_whole_run(view.exchange) : view.tasks.expected;
    post_to_owners(view);
    return do_tasks(view.tasks, expected, stream);
  }
  std::map<int, uint32_t> signals;
  for (int i = 0; i < view.num_tiles; ++i) signals[view.tiles[i].group] += w.signals_per_tile;
  for (const auto& [group, count] : signals)
    view.counters[group * TILEPOST_COUNTER_STRIDE] += count * w.gemm_posts_percent / 100;
}

}  // namespace fakes
