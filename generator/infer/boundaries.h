// Finds the numbers of rows m at which a kernel has to be proven, if m is bounded and may differ
// from run to run.
//
// Two m are of the same *kind* if all of the kernel's decisions that depend on m have the same
// outcome. The kernel does the same at all m of a kind. Each kind is tried at its least and at its
// greatest m. A trial may find further decisions, which divide the kinds. The search ends when no
// trial finds a new decision.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "generator/infer/values/launch.h"
#include "generator/infer/values/terms.h"

namespace tilepost::inference {

class Boundaries {
 public:
  // `most`: the greatest m; `at`: the launch at each m.
  Boundaries(int64_t most, const FactsAt& at);

  // The runs of the kernel note the kernel's decisions here.
  Terms& terms() { return terms_; }
  // The next m to try. Nothing if no m is left, or if there are too many kinds or too much work.
  std::optional<int64_t> next();
  bool too_many() const { return too_many_; }
  // Notes that the kernel was tried at `m`. `work`: the work of this trial (work_of).
  void tried(int64_t m, double work);

 private:
  void find_kinds();

  int64_t most_;
  Terms terms_;
  std::vector<uint64_t> outcomes_;  // at m - 1: a hash of all decisions' outcomes
  std::set<int64_t> left_, tried_;
  double work_ = 0;
  bool too_many_ = false;
};

}  // namespace tilepost::inference
