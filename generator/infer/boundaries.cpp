#include "generator/infer/boundaries.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

namespace tilepost::inference {
namespace {

// The limits on the number of kinds of m, and on the work (work_of) of all trials together. The
// trial at the greatest m does not count.
constexpr size_t kMostKinds = 512;
constexpr double kMostWork = 4e9;

struct Launches {
  LaunchTables tables;
  std::array<int64_t, kSymbols> extent{};
};

Launches all_launches(int64_t most, const FactsAt& at) {
  Launches all;
  constexpr const char* kAxes[] = {"gridDim.x", "gridDim.y", "gridDim.z"};
  for (int64_t m = 1; m <= most; ++m) {
    const KernelFacts facts = at(m);
    for (const auto& [name, value] : facts.numbers) all.tables[name].push_back(value);
    for (size_t axis = 0; axis < 3; ++axis) {
      all.tables[kAxes[axis]].push_back(facts.grid[axis]);
      int64_t& blocks = all.extent[block_x + axis];
      blocks = std::max(blocks, facts.grid[axis]);
      all.extent[axis] = facts.threads[axis];
    }
  }
  return all;
}

Terms terms_of(Launches all, int64_t most) {
  return {std::move(all.tables), all.extent, most};
}

}  // namespace

Boundaries::Boundaries(int64_t most, const FactsAt& at)
    : most_(most),
      terms_(terms_of(all_launches(most, at), most)),
      outcomes_(static_cast<size_t>(most), 0) {}

void Boundaries::tried(int64_t m, double work) {
  tried_.insert(m);
  if (m != most_) work_ += work;
}

void Boundaries::find_kinds() {
  if (!terms_.add_outcomes(outcomes_)) return;
  std::unordered_map<uint64_t, std::pair<int64_t, int64_t>> kinds;
  for (int64_t m = 1; m <= most_; ++m)
    kinds.try_emplace(outcomes_[static_cast<size_t>(m - 1)], m, m).first->second.second = m;
  too_many_ = kinds.size() > kMostKinds;
  left_.clear();
  for (const auto& [outcome, range] : kinds)
    for (const int64_t m : {range.first, range.second})
      if (!tried_.contains(m)) left_.insert(m);
}

std::optional<int64_t> Boundaries::next() {
  find_kinds();
  too_many_ = too_many_ || (work_ > kMostWork && !left_.empty());
  if (left_.empty() || too_many_) return std::nullopt;
  return left_.extract(left_.begin()).value();
}

}  // namespace tilepost::inference
