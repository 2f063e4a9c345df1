// The numbers of a kernel at every m, if m is bounded and may differ from run to run.
//
// A kernel is run at one m (interpreter.h), where a number that follows from m is a constant. The
// *term* of the constant says how it was computed, so that it can be computed at all other m too,
// without running the kernel. Equal terms are one term, in all runs. The kernel's decisions that
// depend on terms are noted here. At all m at which every decision has the same outcome, the kernel
// does the same (boundaries.h).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "generator/infer/values/operations.h"

namespace tilepost::inference {

using TermId = uint32_t;  // 0: the number is the same at every m

// By name, the values that the launch gives the kernel at m = 1, 2, …
using LaunchTables = std::map<std::string, std::vector<int64_t>>;

struct Term {
  Op op;  // constant, choice and unknown as in nodes
  IntType type;
  TermId a, b, c;
  int64_t value;        // for a symbol: a Symbol, or kSymbols + the index of a table
  int64_t least, most;  // bounds at all m
  bool varies;          // whether the term depends on m
  bool indexed;         // whether the term depends on the thread, the block or a choice
  bool affine;          // whether the term grows by the same number from each m to the next
};

// A number that the kernel's behaviour depends on and that is not the same at every m.
struct Decision {
  TermId term;
  bool by_steps;  // whether the term's growth from one m to the next decides, not its value
  bool operator<(const Decision& other) const {
    return std::pair(term, by_steps) < std::pair(other.term, other.by_steps);
  }
};

// A point at which terms are evaluated: the values of the symbols, in the order of Symbol, and of
// all choices.
struct Corner {
  std::array<int64_t, kSymbols> at{};
  int64_t choice = 0;
};

class Terms {
 public:
  // `extent`: how many values each symbol has at most. `most`: the greatest m.
  Terms(LaunchTables tables, const std::array<int64_t, kSymbols>& extent, int64_t most);

  // The term of the launch's number that has this name; 0 if the number is the same at every m.
  TermId given(const std::string& name) const;
  TermId constant(int64_t value);
  TermId leaf(Op op, int64_t value);
  TermId make(Op op, IntType type, TermId a, TermId b = 0, TermId c = 0);
  const Term& operator[](TermId id) const { return terms_[id]; }

  // Note that the kernel's behaviour depends on the term's value, or on how it grows.
  void decide(TermId id);
  void decide_by_steps(TermId id);
  // Notes a comparison that depends on the thread's or block's index and not on m. Terms are then
  // evaluated for an index at which it holds and for one at which it does not.
  void note_index(TermId id);

  // Adds the outcomes of decisions that were noted since the last call, for every m from 1 on.
  // Returns whether there were new outcomes.
  bool add_outcomes(std::vector<uint64_t>& outcomes);

 private:
  using Key = std::tuple<Op, uint8_t, bool, TermId, TermId, TermId, int64_t>;
  TermId add(Term term);
  void note(Decision decision);
  void sweep(const std::vector<Decision>& decisions, const Corner& corner,
             std::vector<uint64_t>& outcomes);
  void evaluate(TermId id, int64_t m, const Corner& corner);
  bool is_guard(const Term& term) const;
  std::vector<TermId> needed_for(std::vector<TermId> ids) const;
  void find_corners(TermId comparison);

  std::vector<Term> terms_;
  std::map<Key, TermId> known_;
  std::vector<std::vector<int64_t>> tables_;
  std::map<std::string, TermId> given_;
  std::array<int64_t, kSymbols> extent_;
  int64_t most_;
  std::map<Decision, bool> decisions_;  // by decision, whether its outcomes were added
  std::vector<Evaluated> values_;
  std::map<TermId, bool> index_;  // comparisons, and whether corners were looked for
  std::vector<Corner> corners_;
  std::set<std::pair<size_t, int64_t>> told_;  // pairs of a symbol and a value that have a corner
};

}  // namespace tilepost::inference
