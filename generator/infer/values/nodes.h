// Numbers of a kernel as expressions of the thread's and the block's index.
//
// A node is a whole number that one thread of one block computes. Equal nodes are one node, and a
// node whose operands are constants is a constant. Every node has the C type in which it was
// computed: unsigned arithmetic wraps around, signed overflow has no value. A node without a value
// is *lost*. A node that is computed from a lost node is lost too, unless a choice or a product
// with 0 makes the lost node irrelevant.
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

// Lanes in a warp: threads whose linear index differs in its last five bits only.
constexpr int64_t kWarp = 32;

struct Node {
  Op op;
  IntType type;  // the result's; for comparisons the operands'
  bool thread;   // whether the node depends on the thread's index, or may do so, being unknown
  bool block;    // whether the node depends on the block's index
  bool safe;     // whether the node has a value in every thread
  bool lost;     // whether the node has a value in no thread
  bool exact;    // whether the operation needs neither wrapping nor an overflow check
  NodeId a, b, c;
  int64_t value;
  int64_t least, most;  // bounds of the value
  bool rows = false;    // whether the node depends on m, if m is bounded
  TermId term = 0;      // for a constant: the term that says how it follows from m
};

// Which of the threads that compute a number have the same one: possibly no two, those of each
// warp, or those of each block.
enum class Alike : uint8_t { none, warp, block };

// Why a number is not known.
struct Reason {
  std::string text;            // "a value read from memory"
  unsigned where = 0;          // a clang::SourceLocation's raw encoding
  const void* loop = nullptr;  // the loop that was passed over without running it
  Alike alike = Alike::none;
  unsigned serial = 0;  // for a condition: its own number, so that no other shares the node; else 0
};

class Nodes {
 public:
  // `extent`: how many values each symbol has. `terms`: not null if m is bounded.
  explicit Nodes(const std::array<int64_t, kSymbols>& extent, Terms* terms = nullptr);

  // `term` is the constant's value at every m, if it depends on m.
  NodeId constant(int64_t value, TermId term = 0);
  // The constant for a number of the launch that has this name.
  NodeId given(int64_t value, const std::string& name);
  NodeId symbol(Symbol which) { return symbols_[which]; }
  // The thread's place in its warp.
  NodeId lane();
  // The choice of this name, such as "beta == 0": a condition that the whole launch shares.
  NodeId choice(const std::string& name);
  // An unknown number. If it is the same in the whole launch, `key` names it, and choices may refer
  // to it. Otherwise `key` is empty. All nodes with one key are the same number, so the result of
  // an operation on the number has no key.
  NodeId unknown(Reason reason, const std::string& key = "");
  // The number as a condition. A lost number becomes a new node every time, because two unknown
  // numbers need not be the same: facts about one say nothing about the other.
  NodeId condition(NodeId a);

  NodeId binary(Op op, NodeId a, NodeId b, IntType type);
  NodeId negation(NodeId a);
  NodeId both(NodeId a, NodeId b);
  NodeId either(NodeId a, NodeId b);
  NodeId select(NodeId condition, NodeId a, NodeId b);
  NodeId convert(NodeId a, IntType type);
  // The number that lane `lane` of the thread's warp has, if a warp's threads lie along x.
  NodeId in_lane(NodeId a, int64_t lane);
  // Whether the number is not 0, as 0 or 1.
  NodeId truth(NodeId a);
  // Which threads surely have the same number.
  Alike alike(NodeId a) const;
  // A lost number without its key.
  NodeId without_key(NodeId a) { return lost_as(a, a); }

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  size_t size() const { return nodes_.size(); }
  bool is_constant(NodeId id) const { return nodes_[id].op == Op::constant; }
  bool is(NodeId id, int64_t value) const { return is_constant(id) && nodes_[id].value == value; }
  // Notes that the kernel's behaviour depends on the node's value.
  void decide(NodeId id);
  // Notes that the kernel's behaviour depends on the constants below these nodes. The nodes are
  // addresses, guards, and masks of the lanes that are waited for.
  void decide_leaves(const std::vector<NodeId>& roots);

  const Reason& reason(NodeId id) const { return reasons_[nodes_[id].value]; }
  const std::string& key(NodeId id) const { return keys_[nodes_[id].value]; }
  const std::vector<std::string>& choices() const { return choices_; }

  // The unknown nodes from which `id` is computed, in the order in which they were made.
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
  mutable std::unordered_map<NodeId, bool> same_in_warp_;  // the known results of is_same_in_warp()
  unsigned serial_ = 0;
  std::vector<std::string> choices_;
  std::map<std::string, NodeId> choice_;
  Terms* terms_;
  std::unordered_map<NodeId, TermId> term_;  // the known results of term_of()
};

}  // namespace tilepost::inference
