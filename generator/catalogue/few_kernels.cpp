#include "generator/catalogue/few_kernels.h"

#include <algorithm>
#include <limits>

namespace tilepost {

void FewKernels::add(const VariantTimes& us, double weight, double lost_without) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [key, time] : us) best = std::min(best, time);
  for (const auto& [key, time] : us)
    losses_[key].push_back({weights_.size(), best > 0 ? time / best - 1 : 0});
  weights_.push_back(weight);
  lost_without_.push_back(lost_without);
}

double FewKernels::gain_of(const std::vector<Loss>& losses, const std::vector<double>& lost) const {
  double sum = 0;
  for (const Loss& loss : losses)
    sum += weights_[loss.run] * std::max(0.0, lost[loss.run] - loss.lost);
  return sum;
}

std::set<std::string> FewKernels::choose(size_t most) const {
  std::vector<double> lost = lost_without_;  // of each run, with the keys so far
  std::set<std::string> keys;
  while (keys.size() < most) {
    double gain = 0;
    auto best = losses_.end();
    for (auto kernel = losses_.begin(); kernel != losses_.end(); ++kernel)
      if (const double with = gain_of(kernel->second, lost); with > gain) {
        gain = with;
        best = kernel;
      }
    if (best == losses_.end()) break;
    for (const Loss& loss : best->second) lost[loss.run] = std::min(lost[loss.run], loss.lost);
    keys.insert(best->first);
  }
  return keys;
}

}  // namespace tilepost
