#include "generator/infer/values/terms.h"

#include <algorithm>
#include <tuple>

namespace tilepost::inference {
namespace {

constexpr size_t kMostCorners = 20;
constexpr int64_t kMostIndices = 4096;  // how many indices are tried to find a corner

uint64_t mixed(uint64_t hash, uint64_t part) {
  hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
  return hash ^ hash >> 29;
}

uint64_t mixed(uint64_t hash, Evaluated part) {
  return mixed(mixed(hash, part.lost ? 1 : 2), static_cast<uint64_t>(part.value));
}

}  // namespace

Terms::Terms(LaunchTables tables, const std::array<int64_t, kSymbols>& extent, int64_t most)
    : extent_(extent), most_(most) {
  add({Op::constant, kInt64, 0, 0, 0, 0, 0, 0, false, false, true});
  for (auto& [name, values] : tables) {
    if (std::ranges::all_of(values, [&](int64_t value) { return value == values.front(); }))
      continue;
    const __int128 step = static_cast<__int128>(values[1]) - values[0];
    bool affine = true;
    for (size_t i = 1; i < values.size(); ++i)
      affine = affine && static_cast<__int128>(values[i]) - values[i - 1] == step;
    const auto [least, greatest] = std::ranges::minmax(values);
    given_[name] =
        add({Op::symbol, kInt64, 0, 0, 0, kSymbols + static_cast<int64_t>(tables_.size()), least,
             greatest, true, false, affine});
    tables_.push_back(std::move(values));
  }
  for (int which = 0; which < 4; ++which) {
    Corner corner;
    corner.choice = which & 1;
    for (size_t i = 0; i < kSymbols; ++i)
      if (which & (i < block_x ? 1 : 2)) corner.at[i] = extent_[i] - 1;
    corners_.push_back(corner);
  }
}

TermId Terms::given(const std::string& name) const {
  const auto at = given_.find(name);
  return at == given_.end() ? 0 : at->second;
}

TermId Terms::add(Term term) {
  const Key key{term.op, term.type.bits, term.type.is_signed, term.a, term.b, term.c, term.value};
  const auto [at, is_new] = known_.try_emplace(key, static_cast<TermId>(terms_.size()));
  if (is_new) terms_.push_back(term);
  return at->second;
}

TermId Terms::constant(int64_t value) {
  return add({Op::constant, kInt64, 0, 0, 0, value, value, value, false, false, true});
}

TermId Terms::leaf(Op op, int64_t value) {
  const int64_t most = op == Op::symbol   ? extent_[static_cast<size_t>(value)] - 1
                       : op == Op::choice ? 1
                                          : most_of(kInt64);
  const int64_t least = op == Op::unknown ? least_of(kInt64) : 0;
  return add({op, kInt64, 0, 0, 0, value, least, most, false, true, true});
}

TermId Terms::make(Op op, IntType type, TermId a, TermId b, TermId c) {
  Term term{op, type, a, b, c, 0, 0, 0, false, false, false};
  const Term &x = terms_[a], &y = terms_[b], &z = terms_[c];
  if (op == Op::convert && fits(x.least, type) && fits(x.most, type)) return a;
  const Range range = bound_of(op, type, {x.least, x.most}, {y.least, y.most});
  term.least = op == Op::select ? std::min(y.least, z.least) : range.least;
  term.most = op == Op::select ? std::max(y.most, z.most) : range.most;
  term.varies = x.varies || y.varies || z.varies;
  term.indexed = x.indexed || y.indexed || z.indexed;
  const bool sum = op == Op::add || op == Op::subtract;
  const bool product = op == Op::multiply && !(x.varies && y.varies);
  term.affine = !term.varies || ((sum || product) && x.affine && y.affine && range.exact);
  return add(term);
}

void Terms::note(Decision decision) {
  if (terms_[decision.term].varies) decisions_.try_emplace(decision, false);
}

void Terms::decide(TermId id) {
  note({id, false});
}

void Terms::note_index(TermId id) {
  if (terms_[id].indexed && !terms_[id].varies) index_.try_emplace(id, false);
}

void Terms::decide_by_steps(TermId id) {
  if (!terms_[id].affine) note({id, true});
}

// Whether the comparison is a guard of rows: both sides grow evenly with m. For each thread such a
// guard changes its outcome at another m, so it is evaluated for the first thread of the first
// block only.
bool Terms::is_guard(const Term& term) const {
  return term.op == Op::less && terms_[term.a].affine && terms_[term.b].affine;
}

void Terms::evaluate(TermId id, int64_t m, const Corner& corner) {
  const Term& term = terms_[id];
  Evaluated& result = values_[id];
  const Evaluated &a = values_[term.a], &b = values_[term.b], &c = values_[term.c];
  switch (term.op) {
    case Op::constant:
      result = {term.value, false};
      return;
    case Op::symbol:
      result = {
          term.value < kSymbols
              ? corner.at[static_cast<size_t>(term.value)]
              : tables_[static_cast<size_t>(term.value - kSymbols)][static_cast<size_t>(m - 1)],
          false};
      return;
    case Op::choice:
      result = {corner.choice, false};
      return;
    case Op::unknown:
      result = {0, true};
      return;
    case Op::select:
      result = a.value ? b : c;
      result.lost |= a.lost;
      return;
    case Op::both: {
      const bool no = (!a.value && !a.lost) || (!b.value && !b.lost);
      result = {!no, !no && (a.lost || b.lost)};
      return;
    }
    default: {
      const bool unary = term.op == Op::negation || term.op == Op::convert;
      const bool lost = a.lost || (!unary && b.lost);
      result = lost ? Evaluated{0, true} : compute(term.op, term.type, a.value, b.value);
      return;
    }
  }
}

void Terms::sweep(const std::vector<Decision>& decisions, const Corner& corner,
                  std::vector<uint64_t>& outcomes) {
  values_.resize(terms_.size());
  std::vector<TermId> terms;
  for (const Decision& decision : decisions) terms.push_back(decision.term);
  const std::vector<TermId> needed = needed_for(std::move(terms));
  std::vector<TermId> varying;
  for (const TermId id : needed) {
    if (terms_[id].varies)
      varying.push_back(id);
    else
      evaluate(id, 1, corner);
  }
  std::vector<std::vector<int64_t>> grown(decisions.size());
  for (int64_t m = 1; m <= most_; ++m) {
    for (const TermId id : varying) evaluate(id, m, corner);
    uint64_t& outcome = outcomes[static_cast<size_t>(m - 1)];
    for (size_t i = 0; i < decisions.size(); ++i) {
      const Evaluated value = values_[decisions[i].term];
      if (decisions[i].by_steps)
        grown[i].push_back(value.lost ? 0 : value.value);
      else
        outcome = mixed(outcome, value);
    }
  }
  for (const std::vector<int64_t>& values : grown) {
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t before = std::max<size_t>(i, 1), after = std::min(i + 1, values.size() - 1);
      const auto step = [&](size_t at) {
        return static_cast<uint64_t>(values[at]) - static_cast<uint64_t>(values[at - 1]);
      };
      outcomes[i] = mixed(mixed(outcomes[i], step(before)), step(after));
    }
  }
}

// These terms and all terms that they are computed from, in the order of evaluation. A term's
// operands have smaller numbers than the term.
std::vector<TermId> Terms::needed_for(std::vector<TermId> ids) const {
  std::set<TermId> needed;
  while (!ids.empty()) {
    const TermId id = ids.back();
    ids.pop_back();
    if (needed.insert(id).second) ids.insert(ids.end(), {terms_[id].a, terms_[id].b, terms_[id].c});
  }
  return {needed.begin(), needed.end()};
}

// Adds as corners the first index for which a comparison holds and the first for which it does not.
void Terms::find_corners(TermId comparison) {
  const std::vector<TermId> needed = needed_for({comparison});
  std::set<size_t> symbols;
  for (const TermId id : needed)
    if (terms_[id].op == Op::symbol) symbols.insert(static_cast<size_t>(terms_[id].value));
  if (symbols.size() != 1) return;
  const size_t symbol = *symbols.begin();
  values_.resize(terms_.size());
  bool seen[2] = {};
  for (int64_t at = 0; at < std::min(extent_[symbol], kMostIndices) && !(seen[0] && seen[1]);
       ++at) {
    Corner corner;
    corner.at[symbol] = at;
    for (const TermId id : needed) evaluate(id, 1, corner);
    const bool is_new = !std::exchange(seen[values_[comparison].value != 0], true);
    if (is_new && at > 0 && corners_.size() < kMostCorners && told_.emplace(symbol, at).second)
      corners_.push_back(corner);
  }
}

bool Terms::add_outcomes(std::vector<uint64_t>& outcomes) {
  const size_t corners = corners_.size();
  for (auto& [comparison, done] : index_)
    if (!std::exchange(done, true)) find_corners(comparison);
  // `guards` are swept at one corner, `fresh` at all corners, and `seen` at new corners.
  std::vector<Decision> guards, fresh, seen;
  for (auto& [decision, done] : decisions_) {
    const Term& term = terms_[decision.term];
    const bool everywhere = term.indexed && !is_guard(term);
    if (std::exchange(done, true)) {
      if (everywhere) seen.push_back(decision);
    } else {
      (everywhere ? fresh : guards).push_back(decision);
    }
  }
  if (!guards.empty()) sweep(guards, {}, outcomes);
  for (size_t i = 0; i < corners_.size() && !fresh.empty(); ++i)
    sweep(fresh, corners_[i], outcomes);
  for (size_t i = corners; i < corners_.size() && !seen.empty(); ++i)
    sweep(seen, corners_[i], outcomes);
  return !guards.empty() || !fresh.empty() || (corners < corners_.size() && !seen.empty());
}

}  // namespace tilepost::inference
