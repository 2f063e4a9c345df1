// The *facts*: the conditions that hold at the statement that is being run.
#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "generator/infer/values/nodes.h"

namespace tilepost::inference {

class Facts {
 public:
  explicit Facts(Nodes& nodes) : nodes_(nodes) {}

  void push(NodeId condition);
  // Removes the newest facts until `size` are left.
  void pop(size_t size);
  size_t size() const { return facts_.size(); }
  const std::vector<NodeId>& all() const { return facts_; }
  // Whether all facts from number `first` on hold.
  NodeId since(size_t first);
  // The node, simplified by the facts. Only choices and conditions are simplified, not arithmetic.
  NodeId assume(NodeId node) { return assume(node, 0); }

 private:
  NodeId assume(NodeId node, int depth);
  NodeId assume_anew(NodeId node, int depth);

  Nodes& nodes_;
  std::vector<NodeId> facts_;
  std::map<NodeId, int> known_;  // the facts, and the parts of conjunctions among them
  std::unordered_map<NodeId, NodeId> assumed_;  // nodes, simplified by the present facts
};

}  // namespace tilepost::inference
