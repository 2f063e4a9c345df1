#include "generator/bench/statistics.h"

#include <algorithm>
#include <cmath>

namespace tilepost {

double percentile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

Summary summarise(const std::vector<double>& values) {
  return {static_cast<int>(values.size()), percentile(values, 0.5),  percentile(values, 0.1),
          percentile(values, 0.25),        percentile(values, 0.75), percentile(values, 0.9),
          percentile(values, 0),           percentile(values, 1)};
}

std::vector<double> paired_ratios(const std::vector<double>& above,
                                  const std::vector<double>& below) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(above.size(), below.size()); ++i)
    ratios.push_back(above[i] / below[i]);
  return ratios;
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

}  // namespace tilepost
