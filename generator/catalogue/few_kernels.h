// Which kernels a catalogue of few kernels has.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "generator/plan/variant.h"

namespace tilepost {

// Collects what runs take with each kernel, and chooses few kernels with which all of them together
// lose least: a run is as much slower as the best of these kernels is than the best of all.
class FewKernels {
 public:
  // Adds a run: what it takes with each kernel that can serve it, how much it counts, and what it
  // loses where no kernel serves it, as a part of its time.
  void add(const VariantTimes& us, double weight, double lost_without);

  // The keys of at most `most` kernels. They are chosen one after the other, each as the one that
  // then helps most, until none helps.
  std::set<std::string> choose(size_t most) const;

 private:
  // That a run loses so much with a kernel, as a part of its time.
  struct Loss {
    size_t run;
    double lost;
  };
  // The sum of what runs that have lost `lost` gain by a kernel.
  double gain_of(const std::vector<Loss>& losses, const std::vector<double>& lost) const;

  std::vector<double> weights_, lost_without_;       // of each run
  std::map<std::string, std::vector<Loss>> losses_;  // by kernel
};

}  // namespace tilepost
