#include "generator/infer/values/facts.h"

#include <set>

namespace tilepost::inference {

namespace {

// Calls `use` with `condition`. If `condition` is a conjunction, calls it with all parts too, once
// for each part: conjunctions may share parts.
template <class Use>
void for_each_part(const Nodes& nodes, NodeId condition, const Use& use) {
  std::set<NodeId> seen{condition};
  std::vector<NodeId> left{condition};
  while (!left.empty()) {
    const NodeId part = left.back();
    left.pop_back();
    use(part);
    const Node& node = nodes[part];
    if (node.op != Op::both) continue;
    for (const NodeId each : {node.a, node.b})
      if (seen.insert(each).second) left.push_back(each);
  }
}

}  // namespace

void Facts::push(NodeId condition) {
  facts_.push_back(condition);
  assumed_.clear();
  for_each_part(nodes_, condition, [&](NodeId part) { ++known_[part]; });
}

void Facts::pop(size_t size) {
  if (facts_.size() > size) assumed_.clear();
  for (; facts_.size() > size; facts_.pop_back()) {
    for_each_part(nodes_, facts_.back(), [&](NodeId part) {
      if (--known_[part] == 0) known_.erase(part);
    });
  }
}

NodeId Facts::since(size_t first) {
  NodeId all = nodes_.constant(1);
  for (size_t i = first; i < facts_.size(); ++i) all = nodes_.both(all, facts_[i]);
  return all;
}

// Because conditions share parts, results are kept as long as the facts stay the same.
NodeId Facts::assume(NodeId node, int depth) {
  if (facts_.empty() || depth > 200) return node;
  if (const auto found = assumed_.find(node); found != assumed_.end()) return found->second;
  const NodeId assumed = assume_anew(node, depth);
  assumed_.emplace(node, assumed);
  return assumed;
}

NodeId Facts::assume_anew(NodeId node, int depth) {
  const Node at = nodes_[node];
  switch (at.op) {
    case Op::select: {
      const NodeId condition = assume(at.a, depth + 1);
      if (nodes_.is_constant(condition)) {
        return assume(nodes_[condition].value ? at.b : at.c, depth + 1);
      }
      return node;
    }
    case Op::both: {
      if (at.safe && known_.count(node)) return nodes_.constant(1);
      return nodes_.both(assume(at.a, depth + 1), assume(at.b, depth + 1));
    }
    case Op::negation:
      if (nodes_[at.a].op == Op::unknown && known_.count(node)) return nodes_.constant(1);
      if (at.safe && known_.count(node)) return nodes_.constant(1);
      return nodes_.negation(assume(at.a, depth + 1));
    case Op::less:
    case Op::equal:
    case Op::choice:
    case Op::unknown:  // an unknown condition, made by Nodes::condition
      if (!at.safe && at.op != Op::unknown) return node;
      if (known_.count(node)) return nodes_.constant(1);
      if (const NodeId opposite = nodes_.negation(node); known_.count(opposite)) {
        return nodes_.constant(0);
      }
      return node;
    default:
      return node;
  }
}

}  // namespace tilepost::inference
