#include "generator/infer/values/nodes.h"

#include <algorithm>
#include <limits>
#include <set>

namespace tilepost::inference {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t least_of(IntType type) {
  return type.bits == 64 ? kLeast : type.is_signed ? -(int64_t{1} << (type.bits - 1)) : 0;
}

int64_t most_of(IntType type) {
  return type.bits == 64 ? kMost : (int64_t{1} << (type.bits - type.is_signed)) - 1;
}

bool fits(int64_t value, IntType type) {
  return least_of(type) <= value && value <= most_of(type);
}

// `value` modulo 2^bits, as that type has it.
int64_t wrap(uint64_t value, IntType type) {
  if (type.bits == 64) return static_cast<int64_t>(value);
  const uint64_t mask = (uint64_t{1} << type.bits) - 1;
  value &= mask;
  if (type.is_signed && value >> (type.bits - 1)) value |= ~mask;
  return static_cast<int64_t>(value);
}

bool is_comparison(Op op) {
  return op == Op::less || op == Op::equal;
}

// Comparing and dividing reads the two's complement as what it stands for.
bool reads_sign(Op op) {
  return op == Op::less || op == Op::divide || op == Op::remainder || op == Op::shift_right;
}

__int128 in_full(Op op, int64_t a, int64_t b) {
  switch (op) {
    case Op::add:
      return static_cast<__int128>(a) + b;
    case Op::subtract:
      return static_cast<__int128>(a) - b;
    case Op::multiply:
      return static_cast<__int128>(a) * b;
    default:
      return static_cast<__int128>(a) << b;
  }
}

Evaluated fitted(__int128 value, IntType type) {
  if (!type.is_signed) return {wrap(static_cast<uint64_t>(value), type), false};
  if (value < least_of(type) || value > most_of(type)) return {0, true};
  return {static_cast<int64_t>(value), false};
}

}  // namespace

Evaluated compute(Op op, IntType type, int64_t a, int64_t b) {
  const bool huge = !type.is_signed && type.bits == 64 && (a < 0 || b < 0);
  if (huge && reads_sign(op)) return {0, true};
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
      return fitted(in_full(op, a, b), type);
    case Op::divide:
    case Op::remainder:
      if (b == 0 || (b == -1 && a == least_of(type))) return {0, true};
      return {op == Op::divide ? a / b : a % b, false};
    case Op::bit_and:
      return {a & b, false};
    case Op::bit_or:
      return {a | b, false};
    case Op::bit_xor:
      return {a ^ b, false};
    case Op::shift_left:
      if (b < 0 || b >= type.bits) return {0, true};
      return fitted(in_full(op, a, b), type);
    case Op::shift_right:
      if (b < 0 || b >= type.bits) return {0, true};
      return {a >> b, false};
    case Op::less:
      return {a < b, false};
    case Op::equal:
      return {a == b, false};
    case Op::both:
      return {a && b, false};
    case Op::either:
      return {a || b, false};
    case Op::negation:
      return {!a, false};
    case Op::convert:
      return {wrap(static_cast<uint64_t>(a), type), false};
    default:
      return {0, true};
  }
}

size_t Nodes::Hash::operator()(const Key& key) const {
  const auto& [op, bits, is_signed, a, b, c, value] = key;
  uint64_t hash = static_cast<uint64_t>(op) * 131 + bits * 2u + is_signed;
  for (const uint64_t part :
       {uint64_t{a}, uint64_t{b}, uint64_t{c}, static_cast<uint64_t>(value)}) {
    hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

Nodes::Nodes(const std::array<int64_t, kSymbols>& extent) : extent_(extent) {
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
  const Key key{node.op, node.type.bits, node.type.is_signed, node.a, node.b, node.c, node.value};
  const auto [at, is_new] = known_.try_emplace(key, static_cast<NodeId>(nodes_.size()));
  if (is_new) nodes_.push_back(node);
  return at->second;
}

NodeId Nodes::constant(int64_t value) {
  return make(
      {Op::constant, kInt64, false, false, true, false, true, 0, 0, 0, value, value, value});
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
    at->second = make(
        {Op::unknown, kInt64, thread, false, false, true, true, 0, 0, 0, index, kLeast, kMost});
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

// What an operation on the lost `a` gives, by the threads in which the other operand is the same.
NodeId Nodes::lost_as(NodeId a, NodeId other) {
  const Alike mine = alike(a);
  if (mine == Alike::none) return a;
  const Alike both = std::min(mine, alike(other));
  const bool keyed = nodes_[a].op == Op::unknown && !key(a).empty();
  return both == mine && !keyed ? a : unknown_as(a, both);
}

// Bounds of the result, and whether it needs no check.
void Nodes::bound(Node& node) const {
  const Node& a = nodes_[node.a];
  const Node& b = nodes_[node.b];
  node.least = least_of(node.type);
  node.most = most_of(node.type);
  node.exact = false;
  const bool natural = node.type.is_signed || node.type.bits < 64 || (a.least >= 0 && b.least >= 0);
  switch (node.op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply: {
      const int64_t left[] = {a.least, a.most};
      const int64_t right[] = {b.least, b.most};
      __int128 low = in_full(node.op, left[0], right[0]);
      __int128 high = low;
      for (const int64_t x : left) {
        for (const int64_t y : right) {
          low = std::min(low, in_full(node.op, x, y));
          high = std::max(high, in_full(node.op, x, y));
        }
      }
      if (low >= node.least && high <= node.most) {
        node.least = static_cast<int64_t>(low);
        node.most = static_cast<int64_t>(high);
        node.exact = true;
      }
      break;
    }
    case Op::divide:
      node.exact = natural && b.least > 0;
      if (node.exact && a.least >= 0) {
        node.least = a.least / b.most;
        node.most = a.most / b.least;
      }
      break;
    case Op::remainder:
      node.exact = natural && b.least > 0;
      if (node.exact) {
        node.least = a.least >= 0 ? 0 : -(b.most - 1);
        node.most = a.least >= 0 ? std::min(a.most, b.most - 1) : b.most - 1;
      }
      break;
    case Op::bit_and:
      node.exact = true;
      if (a.least >= 0 || b.least >= 0) {
        node.least = 0;
        node.most = a.least < 0 ? b.most : b.least < 0 ? a.most : std::min(a.most, b.most);
      }
      break;
    case Op::bit_or:
    case Op::bit_xor:
      node.exact = true;
      if (a.least >= 0 && b.least >= 0) {
        uint64_t mask = static_cast<uint64_t>(a.most | b.most);
        for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
        node.least = 0;
        node.most = static_cast<int64_t>(mask);
      }
      break;
    case Op::shift_left:
      if (b.least >= 0 && b.most < node.type.bits && a.least >= 0 &&
          in_full(node.op, a.most, b.most) <= node.most) {
        node.least = a.least << b.least;
        node.most = a.most << b.most;
        node.exact = true;
      }
      break;
    case Op::shift_right:
      node.exact = natural && b.least >= 0 && b.most < node.type.bits;
      if (node.exact && a.least >= 0) {
        node.least = a.least >> b.most;
        node.most = a.most >> b.least;
      }
      break;
    case Op::convert:
      node.exact = fits(a.least, node.type) && fits(a.most, node.type);
      if (node.exact) {
        node.least = a.least;
        node.most = a.most;
      }
      break;
    default:  // 0 or 1
      node.exact = node.op != Op::less || natural;
      node.least = 0;
      node.most = 1;
      break;
  }
}

// What stands for the operation without a node of its own.
NodeId Nodes::fold(Op op, NodeId a, NodeId b, IntType type, bool& folded) {
  const Node& x = nodes_[a];
  const Node& y = nodes_[b];
  folded = true;
  if (x.op == Op::constant && y.op == Op::constant) {
    const Evaluated result = compute(op, type, x.value, y.value);
    if (!result.lost) return constant(result.value);
    return unknown({"an operation that overflows or divides by 0", 0, nullptr, Alike::block});
  }
  const bool zero = is(a, 0) || is(b, 0);
  if (op == Op::multiply && zero) return constant(0);
  if (op == Op::bit_and && zero) return constant(0);
  if ((op == Op::add || op == Op::bit_or || op == Op::bit_xor) && zero) return is(a, 0) ? b : a;
  if ((op == Op::subtract || op == Op::shift_left || op == Op::shift_right) && is(b, 0)) return a;
  if ((op == Op::multiply || op == Op::divide) && is(b, 1)) return a;
  if (op == Op::multiply && is(a, 1)) return b;
  if (x.lost) return lost_as(a, b);
  if (y.lost) return lost_as(b, a);
  if (x.safe && y.safe) {
    if (op == Op::subtract && a == b) return constant(0);
    if (op == Op::equal && a == b) return constant(1);
    if (op == Op::equal && (x.most < y.least || y.most < x.least)) return constant(0);
    const bool natural = type.is_signed || type.bits < 64 || (x.least >= 0 && y.least >= 0);
    if (op == Op::less && natural && x.most < y.least) return constant(1);
    if (op == Op::less && natural && x.least >= y.most) return constant(0);
    if (op == Op::remainder && x.least >= 0 && x.most < y.least) return a;
    if (op == Op::divide && x.least >= 0 && x.most < y.least) return constant(0);
  }
  folded = false;
  return 0;
}

NodeId Nodes::binary(Op op, NodeId a, NodeId b, IntType type) {
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
  if (fits(x.least, type) && fits(x.most, type)) return a;
  if (x.op == Op::constant) return constant(compute(Op::convert, type, x.value, 0).value);
  Node node{Op::convert, type, x.thread, x.block, x.safe, x.lost, false, a, 0, 0, 0, 0, 0};
  bound(node);
  return make(node);
}

NodeId Nodes::truth(NodeId a) {
  const Node& x = nodes_[a];
  if (x.least >= 0 && x.most <= 1) return a;
  return negation(binary(Op::equal, a, constant(0), kInt64));
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
