// Numbers of a kernel as expressions of the thread's and the block's index.
//
// A node is a whole number that one thread of one block computes. Equal nodes are one node, and a
// node whose operands are constants is one. Every node has the C type it was computed in: unsigned
// arithmetic wraps around, signed overflow has no value. A node without a value is *lost*, and so
// is what is computed from it, unless a choice or a product with 0 leaves it out.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "generator/infer/values/operations.h"
#include "generator/infer/values/terms.h"

namespace tilepost::inference {

using NodeId = uint32_t;

// Lanes of a warp: threads whose linear index is the same but for its last bits.
constexpr int64_t kWarp = 32;

struct Node {
  Op op;
  IntType type;  // the result's; of comparisons: the operands'
  bool thread;   // depends on the thread's index, or may: what is not known
  bool block;    // depends on the block's index
  bool safe;     // has a value in every thread
  bool lost;     // has a value in none
  bool exact;    // the operation needs neither wrap nor a check of overflow
  NodeId a, b, c;
  int64_t value;
  int64_t least, most;  // bounds of the value
  bool rows = false;    // depends on m, where that is bounded
  TermId term = 0;      // of a constant: how it follows from m
};

// Which threads have the same number, as far as they get there.
enum class Alike : uint8_t { none, warp, block };

// Why a number is not known.
struct Reason {
  std::string text;            // "a value read from memory"
  unsigned where = 0;          // a clang::SourceLocation's raw encoding
  const void* loop = nullptr;  // the loop that was passed over without running it
  Alike alike = Alike::none;
  unsigned serial = 0;  // not 0: of a condition, and no other number is the same node
};

class Nodes {
 public:
  // `extent`: how many values each symbol has. `terms`: where m is bounded.
  explicit Nodes(const std::array<int64_t, kSymbols>& extent, Terms* terms = nullptr);

  // `term`: what it is at every m, if it is not the same.
  NodeId constant(int64_t value, TermId term = 0);
  NodeId symbol(Symbol which) { return symbols_[which]; }
  // The thread's place in its warp.
  NodeId lane();
  // The condition of that name, e.g. "beta == 0".
  NodeId choice(const std::string& name);
  // `key` names a number that is the same in the whole launch, for choices; else empty. What is
  // made of the number has no key: of one key there is one number.
  NodeId unknown(Reason reason, const std::string& key = "");
  // The number as a condition. One that is lost becomes a node of its own: two numbers that nobody
  // knows need not be the same, so facts about one say nothing of the other.
  NodeId condition(NodeId a);

  NodeId binary(Op op, NodeId a, NodeId b, IntType type);
  NodeId negation(NodeId a);
  NodeId both(NodeId a, NodeId b);
  NodeId either(NodeId a, NodeId b);
  NodeId select(NodeId condition, NodeId a, NodeId b);
  NodeId convert(NodeId a, IntType type);
  // The number as that lane of the thread's warp has it, where warps lie along x.
  NodeId in_lane(NodeId a, int64_t lane);
  // Whether the number is not 0, as 0 or 1.
  NodeId truth(NodeId a);
  // Which threads surely have the same number.
  Alike alike(NodeId a) const;
  // One that is not known, without its key.
  NodeId without_key(NodeId a) { return lost_as(a, a); }

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  bool is_constant(NodeId id) const { return nodes_[id].op == Op::constant; }
  bool is(NodeId id, int64_t value) const { return is_constant(id) && nodes_[id].value == value; }
  // Notes that the kernel hangs on what the node is.
  void decide(NodeId id);
  // … or on what it and all below it are made of: a place, or who is waited for.
  void decide_leaves(const std::vector<NodeId>& roots);

  const Reason& reason(NodeId id) const { return reasons_[nodes_[id].value]; }
  const std::string& key(NodeId id) const { return keys_[nodes_[id].value]; }
  const std::vector<std::string>& choices() const { return choices_; }

  // The unknown nodes below `id`, in order of their making.
  std::vector<NodeId> unknowns(NodeId id) const;

 private:
  NodeId make(Node node);
  NodeId unknown_as(NodeId a, Alike alike);
  NodeId lost_as(NodeId a, NodeId other);
  bool find_same_in_warp(NodeId id, int depth) const;
  bool is_same_in_warp(NodeId id, int depth) const;
  bool is_seen_in_warps(NodeId id) const;
  NodeId fold(Op op, NodeId a, NodeId b, IntType type, bool& folded);
  void bound(Node& node) const;
  bool is_plain(NodeId id, int64_t value) const { return is(id, value) && !nodes_[id].rows; }
  NodeId folded_to(int64_t value, Op op, NodeId a, NodeId b, IntType type);
  TermId term_of(NodeId id);

  using Key = std::tuple<Op, uint8_t, bool, NodeId, NodeId, NodeId, int64_t, TermId>;
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  std::vector<Node> nodes_;
  std::unordered_map<Key, NodeId, Hash> known_;
  std::array<NodeId, kSymbols> symbols_;
  std::array<int64_t, kSymbols> extent_;
  std::vector<Reason> reasons_;
  std::vector<std::string> keys_;
  std::map<std::tuple<std::string, unsigned, const void*, Alike, unsigned, std::string>, NodeId>
      unknown_;
  mutable std::unordered_map<NodeId, bool> same_in_warp_;  // as far as it was asked
  unsigned serial_ = 0;
  std::vector<std::string> choices_;
  std::map<std::string, NodeId> choice_;
  Terms* terms_;
  std::unordered_map<NodeId, TermId> term_;  // as far as it was asked
};

}  // namespace tilepost::inference
