// Evaluates nodes for all threads of a block at once.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/infer/values/nodes.h"

namespace tilepost::inference {

// The values of a node in all threads. If they do not depend on the thread, there is one value.
struct Lanes {
  std::vector<int64_t> values;
  std::vector<uint8_t> lost;  // by thread, whether its value is lost; empty if none is
  int64_t value(size_t thread) const { return values[values.size() == 1 ? 0 : thread]; }
  bool is_lost(size_t thread) const { return !lost.empty() && lost[lost.size() == 1 ? 0 : thread]; }
};

class LaneEvaluator {
 public:
  // Evaluates `roots` and the nodes that they need. `threads`: the size of a block along each axis.
  LaneEvaluator(const Nodes& nodes, const std::vector<NodeId>& roots,
                const std::array<int64_t, 3>& threads);

  // Sets the choices, and evaluates the nodes that do not depend on the block.
  void choose(const std::vector<bool>& choices);
  // Moves to a block, and evaluates the nodes that depend on it.
  void move_to(const std::array<int64_t, 3>& block);

  const Lanes& operator[](NodeId id) const { return lanes_[place_[id]]; }

 private:
  void evaluate(NodeId id);
  void evaluate_threads(NodeId id, Lanes& lanes);

  const Nodes& nodes_;
  std::array<int64_t, 3> threads_;
  std::array<int64_t, 3> block_{};
  std::vector<bool> choices_;
  std::vector<NodeId> fixed_, moving_;  // in the order of evaluation
  std::vector<uint32_t> place_;
  std::vector<Lanes> lanes_;
};

}  // namespace tilepost::inference
