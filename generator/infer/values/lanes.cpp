#include "generator/infer/values/lanes.h"

namespace tilepost::inference {

LaneEvaluator::LaneEvaluator(const Nodes& nodes, const std::vector<NodeId>& roots,
                             const std::array<int64_t, 3>& threads)
    : nodes_(nodes), threads_(threads), place_(nodes.size(), 0) {
  std::vector<bool> needed(nodes.size(), false);
  std::vector<NodeId> todo = roots;
  while (!todo.empty()) {
    const NodeId id = todo.back();
    todo.pop_back();
    if (needed[id]) continue;
    needed[id] = true;
    for (const NodeId operand : {nodes[id].a, nodes[id].b, nodes[id].c}) todo.push_back(operand);
  }
  // A node's operands have smaller numbers than it has.
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (!needed[id]) continue;
    place_[id] = static_cast<uint32_t>(lanes_.size());
    lanes_.emplace_back();
    (nodes[id].block ? moving_ : fixed_).push_back(id);
  }
}

void LaneEvaluator::choose(const std::vector<bool>& choices) {
  choices_ = choices;
  for (const NodeId id : fixed_) evaluate(id);
}

void LaneEvaluator::move_to(const std::array<int64_t, 3>& block) {
  block_ = block;
  for (const NodeId id : moving_) evaluate(id);
}

void LaneEvaluator::evaluate(NodeId id) {
  const Node& node = nodes_[id];
  Lanes& lanes = lanes_[place_[id]];
  if (node.thread && node.op != Op::unknown) return evaluate_threads(id, lanes);
  lanes.values.resize(1);
  lanes.lost.clear();
  switch (node.op) {
    case Op::constant:
      lanes.values[0] = node.value;
      return;
    case Op::symbol:
      lanes.values[0] = block_[node.value - block_x];
      return;
    case Op::choice:
      lanes.values[0] = choices_[node.value];
      return;
    case Op::unknown:
      lanes.values[0] = 0;
      lanes.lost = {1};
      return;
    default:
      evaluate_threads(id, lanes);
      return;
  }
}

namespace {

// The lanes of an operand, and how to step through them.
struct Input {
  const int64_t* values;
  const uint8_t* lost;  // null if no value is lost
  size_t step, lost_step;
  explicit Input(const Lanes& lanes)
      : values(lanes.values.data()),
        lost(lanes.lost.empty() ? nullptr : lanes.lost.data()),
        step(lanes.values.size() > 1),
        lost_step(lanes.lost.size() > 1) {}
  bool is_lost(size_t i) const { return lost && lost[i * lost_step]; }
};

template <class Function>
void fill(std::vector<int64_t>& out, const Input& a, const Input& b, const Function& function) {
  const size_t count = out.size();
  int64_t* to = out.data();
  if (a.step && b.step) {
    for (size_t i = 0; i < count; ++i) to[i] = function(a.values[i], b.values[i]);
  } else if (a.step) {
    const int64_t right = *b.values;
    for (size_t i = 0; i < count; ++i) to[i] = function(a.values[i], right);
  } else {
    const int64_t left = *a.values;
    for (size_t i = 0; i < count; ++i) to[i] = function(left, b.values[i * b.step]);
  }
}

// Computes the operation for all threads without overflow checks. Returns false if a thread may
// need a check, or if there is no fast loop for the operation.
bool compute_all(const Node& node, std::vector<int64_t>& out, const Input& a, const Input& b) {
  if (!node.exact || !node.safe) return false;
  switch (node.op) {
    case Op::add:
      fill(out, a, b, [](int64_t x, int64_t y) { return x + y; });
      return true;
    case Op::subtract:
      fill(out, a, b, [](int64_t x, int64_t y) { return x - y; });
      return true;
    case Op::multiply:
      fill(out, a, b, [](int64_t x, int64_t y) { return x * y; });
      return true;
    case Op::less:
      fill(out, a, b, [](int64_t x, int64_t y) -> int64_t { return x < y; });
      return true;
    case Op::equal:
      fill(out, a, b, [](int64_t x, int64_t y) -> int64_t { return x == y; });
      return true;
    case Op::both:
      fill(out, a, b, [](int64_t x, int64_t y) { return x & y; });
      return true;
    case Op::bit_and:
      fill(out, a, b, [](int64_t x, int64_t y) { return x & y; });
      return true;
    case Op::bit_or:
      fill(out, a, b, [](int64_t x, int64_t y) { return x | y; });
      return true;
    case Op::bit_xor:
      fill(out, a, b, [](int64_t x, int64_t y) { return x ^ y; });
      return true;
    case Op::negation:
      fill(out, a, a, [](int64_t x, int64_t) -> int64_t { return !x; });
      return true;
    default:
      return false;
  }
}

}  // namespace

void LaneEvaluator::evaluate_threads(NodeId id, Lanes& lanes) {
  const Node& node = nodes_[id];
  const size_t count =
      node.thread ? static_cast<size_t>(threads_[0] * threads_[1] * threads_[2]) : 1;
  lanes.values.resize(count);
  lanes.lost.clear();
  if (node.op == Op::symbol) {
    size_t i = 0;
    for (int64_t z = 0; z < threads_[2]; ++z) {
      for (int64_t y = 0; y < threads_[1]; ++y) {
        for (int64_t x = 0; x < threads_[0]; ++x) {
          lanes.values[i++] = node.value == thread_x ? x : node.value == thread_y ? y : z;
        }
      }
    }
    return;
  }
  const Input a(lanes_[place_[node.a]]);
  const Input b(lanes_[place_[node.b]]);
  if (compute_all(node, lanes.values, a, b)) return;
  const Input c(lanes_[place_[node.c]]);
  if (!node.safe) lanes.lost.assign(count, 0);
  for (size_t i = 0; i < count; ++i) {
    const int64_t x = a.values[i * a.step];
    const int64_t y = b.values[i * b.step];
    bool lost = false;
    int64_t value = 0;
    if (node.op == Op::select) {
      const Input& taken = x ? b : c;
      value = taken.values[i * taken.step];
      lost = a.is_lost(i) || taken.is_lost(i);
    } else if (node.op == Op::both) {
      const bool no = (!x && !a.is_lost(i)) || (!y && !b.is_lost(i));
      value = !no;
      lost = !no && (a.is_lost(i) || b.is_lost(i));
    } else {
      const bool unary = node.op == Op::negation || node.op == Op::convert;
      const Evaluated result = compute(node.op, node.type, x, y);
      value = result.value;
      lost = result.lost || a.is_lost(i) || (!unary && b.is_lost(i));
    }
    lanes.values[i] = value;
    if (!node.safe) lanes.lost[i] = lost;
  }
}

}  // namespace tilepost::inference
