// At which m a kernel has to be proven where m is bounded and every run has its own.
//
// What it does at one m it does at every other of the same kind: where all that it decides by m
// falls in the same way. Each kind is tried at its least and at its greatest m. Runs at these
// find more that it decides, until nothing is new.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "generator/infer/infer.h"
#include "generator/infer/values/terms.h"

namespace tilepost::inference {

class Boundaries {
 public:
  // `most`: the greatest m; `at`: what the launch is at one.
  Boundaries(int64_t most, const FactsAt& at);

  // For runs of the kernel to note what it decides.
  Terms& terms() { return terms_; }
  // Another m to try it at; none is left, or there are too many.
  std::optional<int64_t> next();
  bool too_many() const { return too_many_; }
  // That it is tried at this m, which takes so much.
  void tried(int64_t m, double work);

 private:
  void find_kinds();

  int64_t most_;
  Terms terms_;
  std::vector<uint64_t> outcomes_;  // of all decisions, by m
  std::set<int64_t> left_, tried_;
  double work_ = 0;
  bool too_many_ = false;
};

}  // namespace tilepost::inference
