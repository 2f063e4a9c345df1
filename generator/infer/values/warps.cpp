// Finds out which numbers the lanes of a warp have, and whether all lanes have the same number.
#include <algorithm>
#include <set>

#include "generator/infer/values/nodes.h"

namespace tilepost::inference {

NodeId Nodes::lane() {
  const NodeId above =
      binary(Op::multiply, symbols_[thread_z], constant(extent_[thread_y]), kInt64);
  const NodeId rows = binary(Op::add, above, symbols_[thread_y], kInt64);
  const NodeId thread =
      binary(Op::add, binary(Op::multiply, rows, constant(extent_[thread_x]), kInt64),
             symbols_[thread_x], kInt64);
  return binary(Op::bit_and, thread, constant(kWarp - 1), kInt64);
}

NodeId Nodes::in_lane(NodeId a, int64_t lane) {
  std::set<NodeId> needed;  // a node's operands have smaller numbers than it has
  std::vector<NodeId> left{a};
  while (!left.empty()) {
    const NodeId id = left.back();
    left.pop_back();
    if (nodes_[id].thread && needed.insert(id).second)
      left.insert(left.end(), {nodes_[id].a, nodes_[id].b, nodes_[id].c});
  }
  std::map<NodeId, NodeId> there;
  const auto of = [&](NodeId id) {
    const auto found = there.find(id);
    return found == there.end() ? id : found->second;
  };
  for (const NodeId id : needed) {
    const Node node = nodes_[id];
    const NodeId x = of(node.a), y = of(node.b);
    NodeId& result = there[id];
    if (node.op == Op::unknown || (node.op == Op::symbol && node.value != thread_x))
      result = id;
    else if (node.op == Op::symbol)
      result = binary(Op::add, binary(Op::bit_and, id, constant(~int64_t{31}), kInt64),
                      constant(lane), kInt64);
    else if (node.op == Op::both)
      result = both(x, y);
    else if (node.op == Op::negation)
      result = negation(x);
    else if (node.op == Op::select)
      result = select(x, y, of(node.c));
    else if (node.op == Op::convert)
      result = convert(x, node.type);
    else
      result = binary(node.op, x, y, node.type);
  }
  return of(a);
}

Alike Nodes::alike(NodeId a) const {
  return !nodes_[a].thread ? Alike::block : is_same_in_warp(a, 0) ? Alike::warp : Alike::none;
}

bool Nodes::is_same_in_warp(NodeId id, int depth) const {
  constexpr int kMaxDepth = 200;
  if (!nodes_[id].thread) return true;
  if (depth > kMaxDepth) return false;
  if (const auto found = same_in_warp_.find(id); found != same_in_warp_.end()) return found->second;
  const bool same = find_same_in_warp(id, depth);
  same_in_warp_.emplace(id, same);
  return same;
}

bool Nodes::find_same_in_warp(NodeId id, int depth) const {
  const Node& node = nodes_[id];
  if (node.op == Op::unknown) return reasons_[node.value].alike != Alike::none;
  if (node.op == Op::symbol) {
    int64_t lanes = 1;  // consecutive threads that have the same index
    for (int64_t axis = thread_x; axis < node.value; ++axis) lanes *= extent_[axis];
    return lanes % kWarp == 0;
  }
  const bool operands = is_same_in_warp(node.a, depth + 1) && is_same_in_warp(node.b, depth + 1) &&
                        is_same_in_warp(node.c, depth + 1);
  if (operands) return true;
  // If the operands of these operations differ between lanes, the results usually differ too.
  const bool keeps = node.op == Op::add || node.op == Op::multiply || node.op == Op::shift_left;
  return !keeps && node.safe && !node.block && is_seen_in_warps(id);
}

// Whether the number is the same in all lanes of each warp. Evaluates it for every thread.
bool Nodes::is_seen_in_warps(NodeId id) const {
  std::set<NodeId> needed;  // a node's operands have smaller numbers than it has
  std::vector<NodeId> left{id};
  while (!left.empty()) {
    const NodeId at = left.back();
    left.pop_back();
    const Op op = nodes_[at].op;
    if (op == Op::choice || op == Op::unknown) return false;
    if (!needed.insert(at).second) continue;
    left.insert(left.end(), {nodes_[at].a, nodes_[at].b, nodes_[at].c});
  }
  const int64_t threads = extent_[thread_x] * extent_[thread_y] * extent_[thread_z];
  std::unordered_map<NodeId, int64_t> values;
  int64_t first = 0;  // the number of the warp's first lane
  for (int64_t thread = 0; thread < threads; ++thread) {
    const int64_t index[] = {thread % extent_[thread_x],
                             thread / extent_[thread_x] % extent_[thread_y],
                             thread / extent_[thread_x] / extent_[thread_y]};
    for (const NodeId at : needed) {
      const Node& node = nodes_[at];
      values[at] = node.op == Op::constant ? node.value
                   : node.op == Op::symbol ? index[node.value]
                   : node.op == Op::select
                       ? values[values[node.a] ? node.b : node.c]
                       : compute(node.op, node.type, values[node.a], values[node.b]).value;
    }
    if (thread % kWarp == 0) first = values[id];
    if (values[id] != first) return false;
  }
  return true;
}

}  // namespace tilepost::inference
