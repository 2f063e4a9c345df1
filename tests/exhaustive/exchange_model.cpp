#include "tests/exhaustive/exchange_model.h"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace tilepost::test {
namespace {

// What a word holds: the number of a run, modulo 2^7 here, and whether that run has stored the data
// that the word stands for. Fresh memory holds the number 0 and no stored data. A line, like a
// slot, has its number and its data in one word.
constexpr int kNumbers = 128;
constexpr uint8_t kStored = 128;

// One access of a thread. `await` waits until its word has the number. `await_least` also accepts a
// later number, because its words only grow. A `read` that finds another value is a fault.
enum class Access { store, await, await_least, read };
struct Step {
  Access access;
  int word;
  uint8_t value;
};
using Thread = std::vector<Step>;
// The threads of a kernel, or of its user, which run at the same time.
using Phase = std::vector<Thread>;

// Where the words of a world lie.
class Words {
 public:
  Words(const ExchangeWorld& world, const ExchangeRules& rules) : world_(world), rules_(rules) {}

  int slot(int where, int run, int source, int part) const {
    return at(0, where, parity(run) ^ kind(run), source, part);
  }
  int flag(int where, int run, int source, int part) const {
    return at(1, where, parity(run), source, part);
  }
  int sum(int where, int part) const { return at(2, where, 0, 0, part); }
  int second_flag(int where, int run, int source, int part) const {
    return at(3, where, parity(run), source, part);
  }
  int begun(int where, int source) const { return at(4, where, 0, source, 0); }
  int ended(int where, int source) const { return at(5, where, 0, source, 0); }
  int word(int where, int run, int source) const {
    return at(6, where, rules_.words_of_two_runs ? (world_.before + run) & 1 : 0, source, 0);
  }
  int count() const { return at(7, 0, 0, 0, 0); }

 private:
  int parity(int run) const { return rules_.two_buffers ? (world_.before + run) & 1 : 0; }
  // Runs of another kind have other data in the same place. Here they use the other buffer.
  int kind(int run) const { return rules_.two_buffers ? world_.kinds[run - 1] : 0; }
  int at(int what, int where, int parity, int source, int part) const {
    return (((what * world_.ranks + where) * 2 + parity) * world_.ranks + source) * world_.parts +
           part;
  }

  const ExchangeWorld& world_;
  const ExchangeRules& rules_;
};

// What a rank's kernel does in a run, thread by thread.
class Kernel {
 public:
  Kernel(const ExchangeWorld& world, const ExchangeRules& rules, int rank, int run)
      : world_(world),
        rules_(rules),
        words_(world, rules),
        rank_(rank),
        run_(run),
        value_(number(run) | kStored) {}

  Phase threads() const {
    Phase phase{meeting()};
    if (world_.gathers) {
      for (int part = 0; part < world_.parts; ++part)
        if (has_rows(rank_, part)) phase.push_back(storer(part));
      phase.push_back(tile());
      return phase;
    }
    if (world_.one_cta) phase.push_back(cta());
    for (int part = 0; part < world_.parts; ++part) {
      if (world_.shots == TILEPOST_ONE_SHOT_LINES) {
        phase.push_back(lines(part));
        continue;
      }
      phase.push_back(storer(part));
      if (world_.one_cta) continue;
      if (wants(rank_, part)) phase.push_back(helper(part));
      if (world_.shots == TILEPOST_TWO_SHOT) phase.push_back(mover(part));
    }
    return phase;
  }

  // The reader of the results, in the stream behind the kernel.
  Phase user() const {
    Thread thread;
    if (world_.shots == TILEPOST_TWO_SHOT)
      for (int part = 0; part < world_.parts; ++part)
        thread.push_back({Access::read, words_.sum(rank_, part), value_});
    return {thread};
  }

 private:
  uint8_t number(int run) const { return static_cast<uint8_t>((world_.before + run) % kNumbers); }
  bool wants(int rank, int part) const {
    if (world_.gathers) return true;
    const bool one = world_.scatters || world_.shots == TILEPOST_TWO_SHOT;
    return !one || part % world_.ranks == rank;
  }
  bool has_rows(int rank, int part) const {
    return !world_.scatters || part % world_.ranks == rank;
  }
  void store(Thread& thread, int word) const { thread.push_back({Access::store, word, value_}); }
  template <class Body>
  void for_ranks(Body body) const {
    for (int rank = 0; rank < world_.ranks; ++rank) body(rank);
  }

  Thread meeting() const {
    Thread thread;
    for_ranks([&](int rank) {
      if (rules_.renews && rules_.renews_before_begun) renew(thread, rank);
      thread.push_back({Access::store, words_.ended(rank, rank_), number(run_ - 1)});
      store(thread, words_.word(rank, run_, rank_));
      store(thread, words_.begun(rank, rank_));
      if (rules_.renews && !rules_.renews_before_begun) renew(thread, rank);
    });
    if (!rules_.meets) return thread;
    for_ranks([&](int rank) {
      thread.push_back({Access::await_least, words_.begun(rank_, rank), value_});
      thread.push_back({Access::await, words_.word(rank_, run_, rank), value_});
    });
    return thread;
  }

  // Renews the words in this rank's memory that `source` stores in the next run. It changes their
  // numbers alone.
  void renew(Thread& thread, int source) const {
    const auto make_new = [&](int word) {
      thread.push_back({Access::store, word, number(run_ - 1)});
    };
    for (int part = 0; world_.before > 0 && part < world_.parts; ++part) {
      if (world_.shots == TILEPOST_ONE_SHOT_LINES)
        make_new(words_.slot(rank_, run_ + 1, source, part));
      else
        make_new(words_.flag(rank_, run_ + 1, source, part));
      if (world_.shots == TILEPOST_TWO_SHOT)
        make_new(words_.second_flag(rank_, run_ + 1, source, part));
    }
  }

  Thread follow_other_kind() const {
    Thread thread;
    const bool other = run_ > 1 && world_.kinds[run_ - 1] != world_.kinds[run_ - 2];
    if (other && rules_.waits_for_other_kinds)
      for_ranks([&](int rank) {
        thread.push_back({Access::await_least, words_.ended(rank_, rank), number(run_ - 1)});
      });
    return thread;
  }

  Thread storer(int part) const {
    Thread thread = follow_other_kind();
    const auto raise = [&] {
      for_ranks([&](int rank) {
        if (wants(rank, part)) store(thread, words_.flag(rank, run_, rank_, part));
      });
    };
    if (!rules_.flags_behind_data) raise();
    for_ranks([&](int rank) {
      if (wants(rank, part)) store(thread, words_.slot(rank, run_, rank_, part));
    });
    if (rules_.flags_behind_data) raise();
    return thread;
  }

  Thread helper(int part) const {
    Thread thread;
    for_ranks([&](int rank) {
      const int word = words_.flag(rank_, run_, rank, part);
      const bool awaited = rank == rank_ || rules_.sums_behind_all;
      if (rules_.waits_for_flags && awaited) thread.push_back(flag_step(word));
    });
    for_ranks([&](int rank) {
      if (rules_.sums_behind_all)
        thread.push_back({Access::read, words_.slot(rank_, run_, rank, part), value_});
    });
    if (world_.shots != TILEPOST_TWO_SHOT) return thread;
    for_ranks([&](int rank) { store(thread, words_.sum(rank, part)); });
    for_ranks([&](int rank) { store(thread, words_.second_flag(rank, run_, rank_, part)); });
    return thread;
  }

  // A tile of rows of A waits for all parts that it needs, and then reads them. One thread does
  // both here, because in a CTA the thread that loads comes behind those that wait, whatever other
  // ranks do.
  Thread tile() const {
    Thread thread;
    const auto for_parts = [&](auto body) {
      for_ranks([&](int rank) {
        for (int part = 0; part < world_.parts; ++part)
          if (has_rows(rank, part)) body(rank, part);
      });
    };
    if (rules_.waits_for_flags)
      for_parts([&](int rank, int part) {
        thread.push_back(flag_step(words_.flag(rank_, run_, rank, part)));
      });
    for_parts([&](int rank, int part) {
      thread.push_back({Access::read, words_.slot(rank_, run_, rank, part), value_});
    });
    return thread;
  }

  // Without the rule the wait also accepts the number of the last run in this buffer, which was two
  // runs ago.
  Step flag_step(int word) const {
    if (rules_.right_run) return {Access::await, word, value_};
    return {Access::await_least, word, number(std::max(run_ - 2, 0))};
  }

  Thread mover(int part) const {
    const int owner = part % world_.ranks;
    return {flag_step(words_.second_flag(rank_, run_, owner, part)),
            {Access::read, words_.sum(rank_, part), value_}};
  }

  // The thread of a CTA that handles all parts. It moves a part after it has added up the next one.
  // Without one order, a rank handles the first part that it adds up last of all.
  Thread cta() const {
    Thread thread;
    const auto append = [&](const Thread& steps) {
      thread.insert(thread.end(), steps.begin(), steps.end());
    };
    std::vector<int> order;
    for (int part = 0; part < world_.parts; ++part)
      if (rules_.one_order || part != rank_) order.push_back(part);
    if (!rules_.one_order) order.push_back(rank_);
    for (size_t i = 0; i < order.size(); ++i) {
      if (wants(rank_, order[i])) append(helper(order[i]));
      if (i > 0) append(mover(order[i - 1]));
    }
    append(mover(order.back()));
    return thread;
  }

  // A line has its number in one word with its data.
  Thread lines(int part) const {
    Thread thread = follow_other_kind();
    for_ranks([&](int rank) {
      if (wants(rank, part)) store(thread, words_.slot(rank, run_, rank_, part));
    });
    if (!wants(rank_, part)) return thread;
    for_ranks([&](int rank) {
      const int word = words_.slot(rank_, run_, rank, part);
      if (rules_.waits_for_flags) thread.push_back(flag_step(word));
      thread.push_back({Access::read, word, value_});
    });
    return thread;
  }

  const ExchangeWorld& world_;
  const ExchangeRules& rules_;
  const Words words_;
  const int rank_, run_;
  const uint8_t value_;
};

// The phases of all ranks, and the search through all states that their steps can reach. A state is
// the memory, the phase of each rank, and the progress of each of its threads.
class Search {
 public:
  Search(const ExchangeWorld& world, const ExchangeRules& rules)
      : ranks_(world.ranks),
        before_(world.before),
        words_(static_cast<size_t>(Words(world, rules).count())) {
    const Words words(world, rules);
    for (int rank = 0; rank < ranks_; ++rank) {
      for (int source = 0; source < ranks_; ++source) {
        growing_.push_back(words.begun(rank, source));
        growing_.push_back(words.ended(rank, source));
      }
      phases_.emplace_back();
      for (int run = 1; run <= static_cast<int>(world.kinds.size()); ++run) {
        const Kernel kernel(world, rules, rank, run);
        phases_.back().push_back(kernel.threads());
        phases_.back().push_back(kernel.user());
      }
      for (const Phase& phase : phases_.back()) threads_ = std::max(threads_, phase.size());
    }
  }

  ExchangeResult run() {
    State first(words_ + static_cast<size_t>(ranks_) * (1 + threads_), '\0');
    for (const int word : growing_)
      first[static_cast<size_t>(word)] = static_cast<char>(before_ % kNumbers);
    for (int rank = 0; rank < ranks_; ++rank) skip_ended(first, rank);
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

  size_t place(int rank) const { return words_ + static_cast<size_t>(rank) * (1 + threads_); }

  // Moves the rank on to its next phase that has steps, when all threads of its phase have ended.
  void skip_ended(State& state, int rank) const {
    const auto& phases = phases_[static_cast<size_t>(rank)];
    for (size_t at = place(rank); static_cast<size_t>(state[at]) < phases.size(); ++state[at]) {
      const Phase& phase = phases[static_cast<size_t>(state[at])];
      for (size_t thread = 0; thread < phase.size(); ++thread)
        if (static_cast<size_t>(state[at + 1 + thread]) < phase[thread].size()) return;
      std::fill_n(state.begin() + static_cast<std::ptrdiff_t>(at) + 1, threads_, '\0');
    }
  }

  void go_on(const State& state) {
    bool moves = false, over = true;
    for (int rank = 0; rank < ranks_; ++rank) {
      const auto& phases = phases_[static_cast<size_t>(rank)];
      const size_t at = place(rank);
      if (static_cast<size_t>(state[at]) == phases.size()) continue;
      over = false;
      const Phase& phase = phases[static_cast<size_t>(state[at])];
      for (size_t thread = 0; thread < phase.size(); ++thread)
        if (static_cast<size_t>(state[at + 1 + thread]) < phase[thread].size())
          moves |=
              step(state, rank, thread, phase[thread][static_cast<size_t>(state[at + 1 + thread])]);
    }
    if (!moves && !over && result_.fault.empty()) result_.fault = "all ranks wait";
  }

  // Makes the step in a copy of the state. Returns false if the step cannot happen yet.
  bool step(const State& state, int rank, size_t thread, const Step& step) {
    const auto found = static_cast<uint8_t>(state[static_cast<size_t>(step.word)]);
    const int later = (found - step.value + 2 * kNumbers) % kNumbers;
    if (step.access == Access::await && later != 0) return false;
    if (step.access == Access::await_least && later >= kNumbers / 2) return false;
    if (step.access == Access::read && found != step.value) {
      const bool nothing = later == 0;
      result_.fault = "rank " + std::to_string(rank) + " reads " +
                      (nothing ? "nothing" : "of run " + std::to_string(found % kNumbers)) +
                      " in run " + std::to_string(step.value % kNumbers);
      return true;
    }
    State next = state;
    if (step.access == Access::store)
      next[static_cast<size_t>(step.word)] = static_cast<char>(step.value);
    ++next[place(rank) + 1 + thread];
    skip_ended(next, rank);
    if (seen_.insert(next).second) open_.push_back(std::move(next));
    return true;
  }

  const int ranks_, before_;
  const size_t words_;
  std::vector<int> growing_;  // words that begin with the number of the runs before
  size_t threads_ = 0;
  std::vector<std::vector<Phase>> phases_;  // for each rank
  std::unordered_set<State> seen_;
  std::vector<State> open_;
  ExchangeResult result_;
};

}  // namespace

ExchangeResult try_all_orders(const ExchangeWorld& world, const ExchangeRules& rules) {
  return Search(world, rules).run();
}

}  // namespace tilepost::test
