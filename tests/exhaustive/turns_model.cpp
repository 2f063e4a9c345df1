#include "tests/exhaustive/turns_model.h"

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <unordered_set>

namespace tilepost::test {
namespace {

// What a word holds: the number of a run, modulo 2^7 here, and whether that run has stored the data
// that the word stands for. Fresh memory holds the number 0 and no stored data.
constexpr int kNumbers = 128;
constexpr uint8_t kStored = 128;

// One access of a thread. `await` waits until its word has the number. `await_grown` also accepts a
// later number, because its words only grow. `await_old` accepts a later number of any word. A
// `read` that finds another value is a fault. `await_thread` waits until a thread of the same
// kernel has made `value` steps, as with an mbarrier of the CTA. `await_phase` waits until the
// rank's stream has come to that phase.
enum class Access { store, await, await_old, await_grown, read, await_thread, await_phase };
struct Step {
  Access access;
  int what;  // a word, or a thread
  uint8_t value;
};
using Thread = std::vector<Step>;
using Phase = std::vector<Thread>;  // the threads of a kernel, which run at the same time

// What a rank does: kernels one after the other, and a thread beside them.
struct Rank {
  std::vector<Phase> phases;
  Thread beside;
};

// Where the words of a world lie.
class Words {
 public:
  Words(const TurnsWorld& world, const TurnsRules& rules) : world_(world), rules_(rules) {
    for (const int tiles : world.tiles) most_ = std::max(most_, tiles);
  }
  int slot(int where, int source, int tile) const { return at(0, where, 0, source, tile); }
  int flag(int where, int run, int source, int tile) const {
    return at(1, where, rules_.two_flags ? parity(run) : 0, source, tile);
  }
  int begun(int where, int source) const { return at(2, where, 0, source, 0); }
  int ended(int where, int source) const { return at(3, where, 0, source, 0); }
  int word(int where, int run, int source) const {
    return at(4, where, rules_.words_of_two_runs ? parity(run) : 0, source, 0);
  }
  // The counter by which a run of another kind learns that `source` has stored.
  int counter(int where, int source) const { return at(5, where, 0, source, 0); }
  // The place at `where` of a sum that `source` makes. sums(): the flag by which `source` announces
  // that it has stored all its sums there.
  int sum(int where, int source, int tile) const { return at(6, where, 0, source, tile); }
  int sums(int where, int run, int source) const {
    return at(7, where, rules_.two_flags ? parity(run) : 0, source, 0);
  }
  int count() const { return at(8, 0, 0, 0, 0); }

 private:
  int parity(int run) const { return (world_.before + run) & 1; }
  int at(int what, int where, int parity, int source, int tile) const {
    const int ranks = world_.ranks();
    return (((what * ranks + where) * 2 + parity) * ranks + source) * most_ + tile;
  }

  const TurnsWorld& world_;
  const TurnsRules& rules_;
  int most_ = 1;
};

// One position of a rank's schedule.
struct Position {
  int owner, tile;
};

// A rank's schedule. In each turn it has a tile of each other share, beginning with the next
// rank's, and then an own tile, which belongs to the turn `lag` turns before.
std::vector<Position> schedule_of(const TurnsWorld& world, const TurnsRules& rules, int rank) {
  // Turn and share give the order; owner and tile are the position.
  using Key = std::tuple<int, int, int, int>;
  std::vector<Key> keys;
  const int ranks = world.ranks();
  for (int owner = 0; owner < ranks; ++owner)
    for (int turn = 0; turn < world.tiles[owner]; ++turn) {
      const bool own = owner == rank;
      const bool first = own && !rules.own_behind_others;
      // Without one order a rank computes its own share backwards.
      const int tile = own && !rules.one_order ? world.tiles[owner] - 1 - turn : turn;
      const int distance = own && !first ? ranks : (owner - rank + ranks) % ranks;
      keys.emplace_back(turn + (own ? world.lag : 0), distance, owner, tile);
    }
  std::sort(keys.begin(), keys.end());
  std::vector<Position> positions;
  for (const auto& [turn, distance, owner, tile] : keys) positions.push_back({owner, tile});
  return positions;
}

// What a rank does in a run, thread by thread.
class Run {
 public:
  Run(const TurnsWorld& world, const TurnsRules& rules, int rank, int run)
      : world_(world),
        rules_(rules),
        words_(world, rules),
        rank_(rank),
        run_(run),
        value_(number(run) | kStored) {}

  void append_to(Rank& rank) const {
    if (kind(run_) != 0) return append_other_kind(rank);
    rank.phases.push_back(kernel());
    if (world_.pushes()) rank.phases.push_back({reading_of_out()});
  }

 private:
  static uint8_t modulo(int run) { return static_cast<uint8_t>(run % kNumbers); }
  uint8_t number(int run) const { return modulo(world_.before + run); }
  int kind(int run) const { return world_.kinds[static_cast<size_t>(run) - 1]; }
  int runs() const { return static_cast<int>(world_.kinds.size()); }
  void store(Thread& thread, int word) const { thread.push_back({Access::store, word, value_}); }
  template <class Body>
  void for_ranks(Body body) const {
    for (int rank = 0; rank < world_.ranks(); ++rank) body(rank);
  }
  // Leaves this rank out, because the order of its stream is enough for itself.
  template <class Body>
  void for_others(Body body) const {
    for_ranks([&](int rank) {
      if (rank != rank_) body(rank);
    });
  }

  Phase kernel() const {
    Phase phase{meeting()};
    for (int cta = 0; cta < world_.ctas; ++cta) append_cta(phase, cta);
    if (world_.pushes()) append_sums(phase);
    if (!rules_.begun_behind_end && run_ < runs()) phase.push_back(telling_of_next(phase[0]));
    return phase;
  }

  // Without begun_behind_end: the next kernel, which is placed early, announces that it has begun
  // before this kernel ends.
  Thread telling_of_next(const Thread& meeting) const {
    const Thread next = Run(world_, rules_, rank_, run_ + 1).telling();
    Thread thread{{Access::await_thread, 0, static_cast<uint8_t>(meeting.size())}};
    thread.insert(thread.end(), next.begin(), next.end());
    return thread;
  }

  // Announces that the last run has ended, if its kernel left that to the next run. tell() below
  // announces that this run has begun.
  void say_ended(Thread& thread) const {
    if (run_ > 1 && kind(run_ - 1) == 0)
      for_ranks([&](int rank) {
        thread.push_back({Access::store, words_.ended(rank, rank_), number(run_ - 1)});
      });
  }
  void tell(Thread& thread) const {
    for_others([&](int rank) {
      if (rules_.renews) renew(thread, rank);
      if (kind(run_) == 0) store(thread, words_.word(rank, run_, rank_));
      store(thread, words_.begun(rank, rank_));
    });
  }
  // Renews the words in this rank's memory that `source` stores in the next run. It changes their
  // numbers alone.
  void renew(Thread& thread, int source) const {
    for (int tile = 0; world_.before > 0 && tile < world_.tiles[rank_]; ++tile)
      thread.push_back(
          {Access::store, words_.flag(rank_, run_ + 1, source, tile), number(run_ - 1)});
    if (world_.before > 0 && world_.pushes())
      thread.push_back({Access::store, words_.sums(rank_, run_ + 1, source), number(run_ - 1)});
  }
  // Appends to the CTAs of a kernel: the thread that stores last announces the sums to the other
  // ranks, and CTA 0's source thread waits for theirs.
  void append_sums(Phase& phase) const {
    Thread last;
    for (size_t stores = 2; stores < phase.size() && rules_.sums_behind_stores; stores += 2)
      last.push_back({Access::await_thread, static_cast<int>(stores),
                      static_cast<uint8_t>(phase[stores].size())});
    for_others([&](int rank) { store(last, words_.sums(rank, run_, rank_)); });
    for_others([&](int rank) {
      if (rules_.waits_for_sums) phase[1].push_back(flag_step(words_.sums(rank_, run_, rank)));
    });
    phase.push_back(std::move(last));
  }

  // The caller's read of the results, behind the run.
  Thread reading_of_out() const {
    Thread thread;
    for_others([&](int rank) {
      for (int tile = 0; tile < world_.tiles[world_.leaves ? rank_ : rank]; ++tile)
        thread.push_back(
            {Access::read,
             world_.leaves ? words_.slot(rank_, rank, tile) : words_.sum(rank_, rank, tile),
             value_});
    });
    return thread;
  }

  Thread telling() const {
    Thread thread;
    if (has_other_kinds()) say_ended(thread);
    tell(thread);
    return thread;
  }
  bool has_other_kinds() const { return std::ranges::count(world_.kinds, 1) > 0; }

  // CTA 0: the kernel does not end before it has met all ranks and compared what they run.
  Thread meeting() const {
    Thread thread = telling();
    for_others([&](int rank) {
      thread.push_back({Access::await_grown, words_.begun(rank_, rank), value_});
      thread.push_back({Access::await, words_.word(rank_, run_, rank), value_});
    });
    return thread;
  }

  void await_ended(Thread& thread) const {
    for_ranks([&](int rank) {
      thread.push_back({Access::await_grown, words_.ended(rank_, rank), number(run_ - 1)});
    });
  }

  // A CTA's source thread and its store thread, which share one buffer. The source thread hands it
  // out for each position, and the store thread gives it back. If nothing is added, the source
  // thread has nothing to do.
  void append_cta(Phase& phase, int cta) const {
    const int source_thread = static_cast<int>(phase.size()), store_thread = source_thread + 1;
    Thread sources, stores;
    const bool other = run_ > 1 && kind(run_ - 1) != kind(run_);
    if (other && rules_.waits_for_other_kinds) await_ended(stores);
    if (rules_.stores_behind_begun)
      for_others([&](int rank) {
        stores.push_back({Access::await_grown, words_.begun(rank_, rank), value_});
      });
    const std::vector<Position> positions = schedule_of(world_, rules_, rank_);
    for (size_t i = static_cast<size_t>(cta); i < positions.size();
         i += static_cast<size_t>(world_.ctas)) {
      const Position& at = positions[i];
      if (world_.leaves) {
        if (at.owner != rank_) store(stores, words_.slot(at.owner, rank_, at.tile));
        continue;
      }
      if (at.owner == rank_) read_sources(sources, at.tile);
      const auto handed_out = static_cast<uint8_t>(sources.size());
      stores.push_back({Access::await_thread, source_thread, handed_out});
      if (at.owner != rank_) store_tile(stores, at);
      if (at.owner == rank_ && world_.spreads)
        for_others([&](int rank) { store(stores, words_.sum(rank, rank_, at.tile)); });
      const auto given_back = static_cast<uint8_t>(stores.size());
      sources.push_back({Access::await_thread, store_thread, given_back});
    }
    phase.push_back(std::move(sources));
    phase.push_back(std::move(stores));
  }

  void read_sources(Thread& thread, int tile) const {
    const int read = rules_.right_tile ? tile : (tile + 1) % world_.tiles[rank_];
    for_others([&](int source) {
      if (rules_.waits_for_flags)
        thread.push_back(flag_step(words_.flag(rank_, run_, source, tile)));
      thread.push_back({Access::read, words_.slot(rank_, source, read), value_});
    });
  }
  // Without the rule the wait also accepts the number of the last run of this parity.
  Step flag_step(int word) const {
    if (rules_.right_run) return {Access::await, word, value_};
    return {Access::await_old, word, number(std::max(run_ - 2, 0))};
  }

  void store_tile(Thread& thread, const Position& at) const {
    const int flag = words_.flag(at.owner, run_, rank_, at.tile);
    if (!rules_.flags_behind_data) store(thread, flag);
    store(thread, words_.slot(at.owner, rank_, at.tile));
    if (rules_.flags_behind_data) store(thread, flag);
  }

  // A run of another kind in the same memory. One kernel begins it when all ranks have ended the
  // run before, and one kernel stores. A thread beside the stream reads this rank's slots and
  // announces that the run has ended.
  void append_other_kind(Rank& rank) const {
    Thread beginning, stores;
    say_ended(beginning);
    if (run_ > 1) await_ended(beginning);
    tell(beginning);
    for_others([&](int owner) {
      for (int tile = 0; tile < world_.tiles[owner]; ++tile)
        store(stores, words_.slot(owner, rank_, tile));
      store(stores, words_.counter(owner, rank_));
    });
    rank.phases.push_back({beginning});
    rank.beside.push_back({Access::await_phase, 0, static_cast<uint8_t>(rank.phases.size())});
    rank.phases.push_back({stores});
    for_others([&](int source) {
      rank.beside.push_back({Access::await_grown, words_.counter(rank_, source), value_});
      for (int tile = 0; tile < world_.tiles[rank_]; ++tile)
        rank.beside.push_back({Access::read, words_.slot(rank_, source, tile), value_});
    });
    for_ranks([&](int where) { store(rank.beside, words_.ended(where, rank_)); });
  }

  const TurnsWorld& world_;
  const TurnsRules& rules_;
  const Words words_;
  const int rank_, run_;
  const uint8_t value_;
};

// The search through all states that the steps of all ranks can reach. A state is the memory and,
// for each rank, its phase, the progress of each thread, and the progress of the thread beside
// them.
class Search {
 public:
  Search(const TurnsWorld& world, const TurnsRules& rules)
      : before_(world.before), words_(static_cast<size_t>(Words(world, rules).count())) {
    const Words words(world, rules);
    for (int rank = 0; rank < world.ranks(); ++rank) {
      Rank& all = ranks_.emplace_back();
      for (int run = 1; run <= static_cast<int>(world.kinds.size()); ++run)
        Run(world, rules, rank, run).append_to(all);
      for (const Phase& phase : all.phases) threads_ = std::max(threads_, phase.size());
      for (int source = 0; source < world.ranks(); ++source)
        for (const int word :
             {words.begun(rank, source), words.ended(rank, source), words.counter(rank, source)})
          growing_.push_back(word);
    }
  }

  TurnsResult run() {
    State first(words_ + ranks_.size() * (2 + threads_), '\0');
    for (const int word : growing_)
      first[static_cast<size_t>(word)] = static_cast<char>(before_ % kNumbers);
    for (size_t rank = 0; rank < ranks_.size(); ++rank) skip_ended(first, rank);
    seen_.insert(first);
    open_.push_back(first);
    while (!open_.empty() && result_.fault.empty()) {
      const State state = open_.back();
      open_.pop_back();
      go_on(state);
    }
    result_.states = seen_.size();
    return result_;
  }

 private:
  using State = std::string;
  // A thread that has a next step: its rank, the place of its progress in the state, and the step.
  struct Next {
    size_t rank, place;
    Step step;
  };

  size_t place(size_t rank) const { return words_ + rank * (2 + threads_); }
  static uint8_t byte(const State& state, size_t at) { return static_cast<uint8_t>(state[at]); }

  // Moves the rank on to its next phase that has steps, when all threads of its phase have ended.
  void skip_ended(State& state, size_t rank) const {
    const std::vector<Phase>& phases = ranks_[rank].phases;
    for (const size_t at = place(rank); byte(state, at) < phases.size(); ++state[at]) {
      const Phase& phase = phases[byte(state, at)];
      for (size_t thread = 0; thread < phase.size(); ++thread)
        if (byte(state, at + 2 + thread) < phase[thread].size()) return;
      std::fill_n(state.begin() + static_cast<std::ptrdiff_t>(at) + 2, threads_, '\0');
    }
  }

  std::vector<Next> next_steps(const State& state) const {
    std::vector<Next> all;
    for (size_t rank = 0; rank < ranks_.size(); ++rank) {
      const size_t at = place(rank);
      const auto add = [&](const Thread& thread, size_t progress) {
        const size_t done = byte(state, progress);
        if (done < thread.size()) all.push_back({rank, progress, thread[done]});
      };
      add(ranks_[rank].beside, at + 1);
      if (byte(state, at) == ranks_[rank].phases.size()) continue;
      const Phase& phase = ranks_[rank].phases[byte(state, at)];
      for (size_t thread = 0; thread < phase.size(); ++thread) add(phase[thread], at + 2 + thread);
    }
    return all;
  }

  // Whether an access is a wait for something that only grows. Once such a wait may end, it always
  // may, and its end changes nothing for other threads. So it is enough to try the orders in which
  // it comes next.
  static bool stays(Access access) {
    return access == Access::await_grown || access == Access::await_thread ||
           access == Access::await_phase;
  }

  void go_on(const State& state) {
    const std::vector<Next> all = next_steps(state);
    for (const Next& next : all)
      if (stays(next.step.access) && may_happen(state, next)) return take(state, next);
    bool moves = false;
    for (const Next& next : all) {
      if (!may_happen(state, next)) continue;
      moves = true;
      take(state, next);
    }
    if (!moves && !all.empty() && result_.fault.empty()) result_.fault = "all ranks wait";
  }

  bool may_happen(const State& state, const Next& next) const {
    const Step& step = next.step;
    const size_t at = place(next.rank);
    if (step.access == Access::await_phase) return byte(state, at) >= step.value;
    if (step.access == Access::await_thread)
      return byte(state, at + 2 + static_cast<size_t>(step.what)) >= step.value;
    const int found = byte(state, static_cast<size_t>(step.what));
    const int later = (found - step.value + 2 * kNumbers) % kNumbers;
    if (step.access == Access::await) return later == 0;
    if (step.access == Access::await_old || step.access == Access::await_grown)
      return later < kNumbers / 2;
    return true;
  }

  void take(const State& state, const Next& next) {
    const Step& step = next.step;
    if (step.access == Access::read && byte(state, static_cast<size_t>(step.what)) != step.value)
      return report(byte(state, static_cast<size_t>(step.what)), next);
    State after = state;
    if (step.access == Access::store)
      after[static_cast<size_t>(step.what)] = static_cast<char>(step.value);
    ++after[next.place];
    skip_ended(after, next.rank);
    if (seen_.insert(after).second) open_.push_back(std::move(after));
  }

  void report(uint8_t found, const Next& next) {
    const bool nothing = (found ^ next.step.value) == kStored;
    result_.fault = "rank " + std::to_string(next.rank) + " reads " +
                    (nothing ? "nothing" : "of run " + std::to_string(found % kNumbers)) +
                    " in run " + std::to_string(next.step.value % kNumbers);
  }

  const int before_;
  const size_t words_;
  std::vector<int> growing_;  // words that begin with the number of the runs before
  size_t threads_ = 0;
  std::vector<Rank> ranks_;
  std::unordered_set<State> seen_;
  std::vector<State> open_;
  TurnsResult result_;
};

}  // namespace

TurnsResult try_all_turns(const TurnsWorld& world, const TurnsRules& rules) {
  return Search(world, rules).run();
}

}  // namespace tilepost::test
