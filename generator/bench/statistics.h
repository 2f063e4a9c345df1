// Statistics of a list of measurements.
#pragma once

#include <vector>

namespace tilepost {

// The value below which a share `q` of the values lies, interpolated linearly between two
// neighbours. 0 for no values.
double percentile(std::vector<double> values, double q);

struct Summary {
  int n = 0;
  double median = 0, p10 = 0, p25 = 0, p75 = 0, p90 = 0, min = 0, max = 0;
};
Summary summarise(const std::vector<double>& values);

// above[i] / below[i] for every round that both have. An influence of one round on both cancels
// out.
std::vector<double> paired_ratios(const std::vector<double>& above,
                                  const std::vector<double>& below);

// The geometric mean of the values, which must be positive; 0 for no values.
double geometric_mean(const std::vector<double>& values);

}  // namespace tilepost
