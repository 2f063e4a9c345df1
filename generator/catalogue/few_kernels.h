// Which kernels a catalogue of few kernels has.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "generator/plan/variant.h"

namespace tilepost {

// Runs with one number of rows: what they take with each kernel that can serve them, and how much
// they count.
struct WeighedRuns {
  VariantTimes us;
  double weight;
};

// The kernels, at most `most`, with which all of the runs lose least: each is as much slower as the
// best of these kernels is than the best of all. Kernels are chosen one after the other, each as the
// one that then helps most, until none helps.
std::set<std::string> few_kernels(const std::vector<WeighedRuns>& runs, size_t most);

}  // namespace tilepost
