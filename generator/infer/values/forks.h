// Pointers that lead to one of two places, as `x < y ? x : y` and std::min(x, y) name them.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "generator/infer/values/memory.h"

namespace tilepost::inference {

// The two places of a pointer with Root::either.
struct Fork {
  NodeId condition = 0;  // the pointer leads to `first` if this is true, and else to `second`
  Value first, second;
  unsigned where = 0;  // a clang::SourceLocation's raw encoding
  int places = 0;      // how many places without a fork of their own there are
};

class Forks {
 public:
  // The most places that one pointer may lead to. A load looks at each.
  static constexpr int kMostPlaces = 16;

  // How many places the pointer may lead to.
  int places(Value pointer) const {
    return pointer.root == Root::either ? forks_[pointer.object].places : 1;
  }
  // The number of the fork with this condition and these places. Equal forks are one fork.
  uint32_t add(NodeId condition, Value first, Value second, unsigned where) {
    const auto part = [](Value value) { return std::tuple(value.root, value.object, value.node); };
    const auto [at, is_new] = known_.try_emplace({condition, part(first), part(second)},
                                                 static_cast<uint32_t>(forks_.size()));
    if (is_new) forks_.push_back({condition, first, second, where, places(first) + places(second)});
    return at->second;
  }
  const Fork& of(Value pointer) const { return forks_[pointer.object]; }
  // Calls `use` with each place that the pointer may lead to.
  template <class Use>
  void for_each_place(Value pointer, const Use& use) const {
    if (pointer.root != Root::either) return use(pointer);
    const Fork fork = of(pointer);
    for_each_place(fork.first, use);
    for_each_place(fork.second, use);
  }

 private:
  using Part = std::tuple<Root, uint32_t, NodeId>;
  std::vector<Fork> forks_;
  std::map<std::tuple<NodeId, Part, Part>, uint32_t> known_;
};

}  // namespace tilepost::inference
