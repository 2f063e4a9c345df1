// What numbers of a kernel are at every m, where m is bounded and each run has its own.
//
// A kernel is run at one m (interpreter.h), where what follows from m is a constant. Its term says
// how it was computed, so that it can be computed at all other m too, without running the kernel.
// Equal terms are one term, in all runs. What the kernel decides by terms is noted here: where no
// decision falls otherwise, the kernel does the same (boundaries.h).
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

using TermId = uint32_t;  // 0: of what is the same at every m

// What the launch gives the kernel at m = 1, 2, … by a name.
using LaunchTables = std::map<std::string, std::vector<int64_t>>;

struct Term {
  Op op;  // constant, choice and unknown as of nodes
  IntType type;
  TermId a, b, c;
  int64_t value;        // symbol: from kSymbols on, of a table
  int64_t least, most;  // bounds at all m
  bool varies;          // with m
  bool indexed;         // depends on the thread, the block or a choice
  bool affine;          // grows with m by the same number everywhere
};

// Something of the kernel that is not the same at every m.
struct Decision {
  TermId term;
  bool by_steps;  // by how much it grows from one m to the next, and not what it is
  bool operator<(const Decision& other) const {
    return std::pair(term, by_steps) < std::pair(other.term, other.by_steps);
  }
};

// The values of the symbols, in the order of Symbol, and of every choice.
struct Corner {
  std::array<int64_t, kSymbols> at{};
  int64_t choice = 0;
};

class Terms {
 public:
  // `extent`: how many values each symbol has at most; `most`: the greatest m.
  Terms(LaunchTables tables, const std::array<int64_t, kSymbols>& extent, int64_t most);

  // What the launch gives by that name; 0 if it is the same at every m.
  TermId given(const std::string& name) const;
  TermId constant(int64_t value);
  TermId leaf(Op op, int64_t value);
  TermId make(Op op, IntType type, TermId a, TermId b = 0, TermId c = 0);
  const Term& operator[](TermId id) const { return terms_[id]; }

  // Notes that the kernel hangs on what the term is, or on how it grows.
  void decide(TermId id);
  void decide_by_steps(TermId id);
  // Notes a comparison that the index decides and m does not: threads and blocks that it tells from
  // the others are looked at.
  void note_index(TermId id);

  // Adds what the decisions noted since the last call come to, for every m from 1 on. Returns
  // whether there were any.
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
  std::map<Decision, bool> decisions_;  // whether its outcomes were added
  std::vector<Evaluated> values_;
  std::map<TermId, bool> index_;  // comparisons, and whether their corners were found
  std::vector<Corner> corners_;
  std::set<std::pair<size_t, int64_t>> told_;  // a symbol's values that have a corner
};

}  // namespace tilepost::inference
