#include "generator/infer/values/nodes.h"

#include <algorithm>
#include <limits>
#include <set>

namespace tilepost::inference {
namespace {

bool is_comparison(Op op) {
  return op == Op::less || op == Op::equal;
}

}  // namespace

size_t Nodes::Hash::operator()(const Key& key) const {
  const auto& [op, bits, is_signed, a, b, c, value, term] = key;
  uint64_t hash = static_cast<uint64_t>(op) * 131 + bits * 2u + is_signed;
  for (const uint64_t part :
       {uint64_t{a}, uint64_t{b}, uint64_t{c}, static_cast<uint64_t>(value), uint64_t{term}}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

Nodes::Nodes(const std::array<int64_t, kSymbols>& extent, Terms* terms)
    : extent_(extent), terms_(terms) {
  constant(0);
  for (int which = 0; which < kSymbols; ++which) {
    if (extent[which] == 1) {
      symbols_[which] = constant(0);
      continue;
    }
    const bool block = which >= block_x;
    symbols_[which] = make({Op::symbol, kInt64, !block, block, true, false, true, 0, 0, 0, which, 0,
                            extent[which] - 1});
  }
}

NodeId Nodes::make(Node node) {
  const Key key{node.op, node.type.bits, node.type.is_signed, node.a,
                node.b,  node.c,         node.value,          node.term};
  const auto [at, is_new] = known_.try_emplace(key, static_cast<NodeId>(nodes_.size()));
  if (!is_new) return at->second;
  node.rows = node.term != 0;
  if (node.op > Op::unknown)
    node.rows = nodes_[node.a].rows || nodes_[node.b].rows || nodes_[node.c].rows;
  nodes_.push_back(node);
  return at->second;
}

NodeId Nodes::constant(int64_t value, TermId term) {
  return make({Op::constant, kInt64, false, false, true, false, true, 0, 0, 0, value, value, value,
               false, term});
}

NodeId Nodes::given(int64_t value, const std::string& name) {
  return constant(value, terms_ ? terms_->given(name) : 0);
}

NodeId Nodes::choice(const std::string& name) {
  const auto [at, is_new] = choice_.try_emplace(name, 0);
  if (is_new) {
    const auto index = static_cast<int64_t>(choices_.size());
    choices_.push_back(name);
    at->second = make({Op::choice, kInt64, false, false, true, false, true, 0, 0, 0, index, 0, 1});
  }
  return at->second;
}

NodeId Nodes::unknown(Reason reason, const std::string& key) {
  const bool thread = reason.alike != Alike::block && key.empty();
  const auto [at, is_new] = unknown_.try_emplace(
      {reason.text, reason.where, reason.loop, reason.alike, reason.serial, key}, 0);
  if (is_new) {
    const auto index = static_cast<int64_t>(reasons_.size());
    reasons_.push_back(std::move(reason));
    keys_.push_back(key);
    using Any = std::numeric_limits<int64_t>;
    at->second = make({Op::unknown, kInt64, thread, false, false, true, true, 0, 0, 0, index,
                       Any::min(), Any::max()});
  }
  return at->second;
}

NodeId Nodes::condition(NodeId a) {
  if (!nodes_[a].lost) return truth(a);
  Reason reason = reasons_[nodes_[unknowns(a).front()].value];
  reason.serial = ++serial_;
  reason.alike = alike(a);
  return unknown(std::move(reason));
}

NodeId Nodes::unknown_as(NodeId a, Alike alike) {
  Reason reason = reasons_[nodes_[unknowns(a).front()].value];
  reason.alike = alike;
  return unknown(std::move(reason));
}

// The result of an operation on `a`, which is lost, and `other`. Threads in which both operands are
// alike have the same result.
NodeId Nodes::lost_as(NodeId a, NodeId other) {
  const Alike mine = alike(a);
  if (mine == Alike::none) return a;
  const Alike both = std::min(mine, alike(other));
  const bool keyed = nodes_[a].op == Op::unknown && !key(a).empty();
  return both == mine && !keyed ? a : unknown_as(a, both);
}

// Sets the bounds of the result, and whether the operation needs no check.
void Nodes::bound(Node& node) const {
  const auto range = [&](NodeId id) { return Range{nodes_[id].least, nodes_[id].most}; };
  const Range result = bound_of(node.op, node.type, range(node.a), range(node.b));
  node.least = result.least;
  node.most = result.most;
  node.exact = result.exact;
}

// Sets `folded` to whether the operation needs no node of its own. If so, returns the result.
NodeId Nodes::fold(Op op, NodeId a, NodeId b, IntType type, bool& folded) {
  const Node& x = nodes_[a];
  const Node& y = nodes_[b];
  folded = true;
  if (x.op == Op::constant && y.op == Op::constant) {
    const Evaluated result = compute(op, type, x.value, y.value);
    if (!result.lost) return folded_to(result.value, op, a, b, type);
    if (x.rows || y.rows) terms_->decide(terms_->make(op, type, term_of(a), term_of(b)));
    return unknown({"an operation that overflows or divides by 0", 0, nullptr, Alike::block});
  }
  const bool zero = is_plain(a, 0) || is_plain(b, 0);
  const bool product = op == Op::multiply || op == Op::bit_and;
  if (product && zero) return constant(0);
  if (product && (is(a, 0) || is(b, 0))) return folded_to(0, op, a, b, type);
  if ((op == Op::add || op == Op::bit_or || op == Op::bit_xor) && zero)
    return is_plain(a, 0) ? b : a;
  if ((op == Op::subtract || op == Op::shift_left || op == Op::shift_right) && is_plain(b, 0))
    return a;
  if ((op == Op::multiply || op == Op::divide) && is_plain(b, 1)) return a;
  if (op == Op::multiply && is_plain(a, 1)) return b;
  if (x.lost) return lost_as(a, b);
  if (y.lost) return lost_as(b, a);
  if (x.safe && y.safe) {
    if (op == Op::subtract && a == b) return constant(0);
    if (op == Op::equal && a == b) return constant(1);
    if (op == Op::equal && (x.most < y.least || y.most < x.least)) return constant(0);
    const bool natural = type.is_signed || type.bits < 64 || (x.least >= 0 && y.least >= 0);
    if (op == Op::less && natural && x.most < y.least) return constant(1);
    if (op == Op::less && natural && x.least >= y.most) return constant(0);
    const bool within = x.least >= 0 && x.most < y.least;
    if (op == Op::remainder && within && !x.rows && !y.rows) return a;
    if (op == Op::divide && within) return folded_to(0, op, a, b, type);
  }
  folded = false;
  return 0;
}

NodeId Nodes::binary(Op op, NodeId a, NodeId b, IntType type) {
  const bool varies = nodes_[a].rows || nodes_[b].rows;
  if (terms_ && is_comparison(op) && !nodes_[a].lost && !nodes_[b].lost) {
    const TermId term = terms_->make(op, type, term_of(a), term_of(b));
    varies ? terms_->decide(term) : terms_->note_index(term);
  }
  bool folded = false;
  const NodeId result = fold(op, a, b, type, folded);
  if (folded) return result;
  const bool commutes = op == Op::add || op == Op::multiply || op == Op::bit_and ||
                        op == Op::bit_or || op == Op::bit_xor || op == Op::equal;
  if (commutes && a > b) std::swap(a, b);
  const Node& x = nodes_[a];
  const Node& y = nodes_[b];
  Node node{op, type, x.thread || y.thread, x.block || y.block, true, false, false, a, b, 0, 0,
            0,  0};
  bound(node);
  const bool wraps = !type.is_signed && (op == Op::add || op == Op::subtract || op == Op::multiply);
  node.safe = x.safe && y.safe && (node.exact || wraps || is_comparison(op));
  if (op == Op::less && !node.exact) node.safe = false;
  return make(node);
}

NodeId Nodes::negation(NodeId a) {
  if (is_constant(a)) return constant(!nodes_[a].value);
  if (nodes_[a].op == Op::negation) return nodes_[a].a;
  const Node& x = nodes_[a];
  return make({Op::negation, kInt64, x.thread, x.block, x.safe, x.lost, true, a, 0, 0, 0, 0, 1});
}

NodeId Nodes::both(NodeId a, NodeId b) {
  if (is(a, 0) || is(b, 0)) return constant(0);
  if (is(a, 1) || a == b) return b;
  if (is(b, 1)) return a;
  const bool same = nodes_[a].safe || nodes_[a].op == Op::unknown;
  if (same && negation(a) == b) return constant(0);
  if (a > b) std::swap(a, b);
  const Node& x = nodes_[a];
  const Node& y = nodes_[b];
  return make({Op::both, kInt64, x.thread || y.thread, x.block || y.block, x.safe && y.safe,
               x.lost && y.lost, true, a, b, 0, 0, 0, 1});
}

NodeId Nodes::either(NodeId a, NodeId b) {
  return negation(both(negation(a), negation(b)));
}

NodeId Nodes::select(NodeId condition, NodeId a, NodeId b) {
  if (is_constant(condition)) return nodes_[condition].value ? a : b;
  if (a == b) return a;
  if (nodes_[condition].op == Op::negation) return select(nodes_[condition].a, b, a);
  const Node& q = nodes_[condition];
  const Node& x = nodes_[a];
  const Node& y = nodes_[b];
  return make({Op::select, kInt64, q.thread || x.thread || y.thread, q.block || x.block || y.block,
               q.safe && x.safe && y.safe, q.lost || (x.lost && y.lost), true, condition, a, b, 0,
               std::min(x.least, y.least), std::max(x.most, y.most)});
}

NodeId Nodes::convert(NodeId a, IntType type) {
  const Node& x = nodes_[a];
  if (x.lost) return without_key(a);
  const TermId term = x.rows ? terms_->make(Op::convert, type, term_of(a)) : 0;
  const bool keeps = term == 0 || term == term_of(a);  // the conversion changes nothing at any m
  if (keeps && fits(x.least, type) && fits(x.most, type)) return a;
  if (x.op == Op::constant) return constant(compute(Op::convert, type, x.value, 0).value, term);
  Node node{Op::convert, type, x.thread, x.block, x.safe, x.lost, false, a, 0, 0, 0, 0, 0};
  bound(node);
  return make(node);
}

NodeId Nodes::truth(NodeId a) {
  const Node& x = nodes_[a];
  if (x.least >= 0 && x.most <= 1) {
    const bool decided = is_comparison(x.op) || x.op == Op::both || x.op == Op::negation;
    if (!decided) decide(a);  // otherwise the comparisons inside of `a` are already noted
    return a;
  }
  return negation(binary(Op::equal, a, constant(0), kInt64));
}

// The constant that is the result of an operation. If it may depend on m, it gets a term.
NodeId Nodes::folded_to(int64_t value, Op op, NodeId a, NodeId b, IntType type) {
  const bool varies = (nodes_[a].rows || nodes_[b].rows) && !is_comparison(op);
  return constant(value, varies ? terms_->make(op, type, term_of(a), term_of(b)) : 0);
}

// The term that says how the node is computed from the thread's and block's index and from m.
TermId Nodes::term_of(NodeId id) {
  std::vector<NodeId> left{id};
  while (!left.empty()) {
    const NodeId at = left.back();
    const Node& node = nodes_[at];
    const auto operands = {node.a, node.b, node.c};
    const size_t before = left.size();
    if (node.op > Op::unknown && !term_.contains(at))
      std::ranges::copy_if(operands, std::back_inserter(left),
                           [&](NodeId operand) { return !term_.contains(operand); });
    if (left.size() > before) continue;
    left.pop_back();
    if (term_.contains(at)) continue;
    term_[at] = node.op == Op::constant ? (node.term ? node.term : terms_->constant(node.value))
                : node.op <= Op::unknown
                    ? terms_->leaf(node.op, node.value)
                    : terms_->make(node.op, node.type, term_[node.a], term_[node.b], term_[node.c]);
  }
  return term_[id];
}

void Nodes::decide(NodeId id) {
  if (nodes_[id].rows && !nodes_[id].lost) terms_->decide(term_of(id));
}

// If a constant depends on m, addresses made from it may change with m in any way, as with m % 40.
// So the growth of such a constant from one m to the next is a decision.
void Nodes::decide_leaves(const std::vector<NodeId>& roots) {
  std::vector<bool> seen(nodes_.size(), false);
  std::vector<NodeId> left = roots;
  while (!left.empty()) {
    const NodeId id = left.back();
    left.pop_back();
    if (!nodes_[id].rows || seen[id]) continue;
    seen[id] = true;
    if (is_constant(id)) terms_->decide_by_steps(nodes_[id].term);
    left.insert(left.end(), {nodes_[id].a, nodes_[id].b, nodes_[id].c});
  }
}

std::vector<NodeId> Nodes::unknowns(NodeId id) const {
  std::set<NodeId> seen;
  std::vector<NodeId> todo{id};
  std::set<NodeId> found;
  while (!todo.empty()) {
    const NodeId at = todo.back();
    todo.pop_back();
    const Node& node = nodes_[at];
    if (node.safe || !seen.insert(at).second) continue;
    if (node.op == Op::unknown) {
      found.insert(at);
      continue;
    }
    todo.push_back(node.a);
    todo.push_back(node.b);
    todo.push_back(node.c);
  }
  return {found.begin(), found.end()};
}

}  // namespace tilepost::inference
