#include "generator/catalogue/few_kernels.h"

#include <algorithm>
#include <limits>
#include <map>

namespace tilepost {
namespace {

// What runs lose for which there is no kernel, as a part of their time: PyTorch's own GEMM and
// collective serve them, one after the other.
constexpr double kLostWithout = 0.4;

// Runs, of which each has lost so much with the kernels chosen so far.
struct Run {
  double weight, lost;
};
// That a run loses so much with a kernel.
struct Loss {
  size_t run;
  double lost;
};

}  // namespace

std::set<std::string> few_kernels(const std::vector<WeighedRuns>& runs, size_t most) {
  std::vector<Run> chosen_so_far;
  std::map<std::string, std::vector<Loss>> losses;  // by kernel
  for (const WeighedRuns& each : runs) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [key, us] : each.us) best = std::min(best, us);
    for (const auto& [key, us] : each.us)
      losses[key].push_back({chosen_so_far.size(), best > 0 ? us / best - 1 : 0});
    chosen_so_far.push_back({each.weight, kLostWithout});
  }
  const auto gain = [&](const std::vector<Loss>& of_kernel) {
    double sum = 0;
    for (const Loss& loss : of_kernel) {
      const Run& run = chosen_so_far[loss.run];
      sum += run.weight * std::max(0.0, run.lost - loss.lost);
    }
    return sum;
  };
  std::set<std::string> keys;
  while (keys.size() < most) {
    const auto next = std::ranges::max_element(
        losses, {}, [&](const auto& kernel) { return gain(kernel.second); });
    if (next == losses.end() || gain(next->second) <= 0) break;
    for (const Loss& loss : next->second)
      chosen_so_far[loss.run].lost = std::min(chosen_so_far[loss.run].lost, loss.lost);
    keys.insert(next->first);
  }
  return keys;
}

}  // namespace tilepost
