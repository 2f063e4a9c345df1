// What a list of measurements says.
#pragma once

#include <vector>

namespace tilepost {

// The value below which a share `q` of the values lies, between two neighbours in proportion. 0 for
// no values.
double percentile(std::vector<double> values, double q);

struct Summary {
  int n = 0;
  double median = 0, p10 = 0, p25 = 0, p75 = 0, p90 = 0, min = 0, max = 0;
};
Summary summarise(const std::vector<double>& values);

// above[i] / below[i] for every round that both have: what one round does to both cancels out.
std::vector<double> paired_ratios(const std::vector<double>& above,
                                  const std::vector<double>& below);

// 0 for no values; all must be positive.
double geometric_mean(const std::vector<double>& values);

}  // namespace tilepost
