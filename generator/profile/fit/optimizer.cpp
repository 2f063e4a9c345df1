#include "generator/profile/fit/optimizer.h"

#include <algorithm>
#include <cmath>

namespace tilepost {
namespace {

constexpr int kSweeps = 200;
constexpr double kFinest = 0.0005;  // steps below this part of a parameter change nothing
constexpr double kTiny = 1e-4;      // what a step is of where the parameter is 0

}  // namespace

double descend(std::vector<double>& parameters, const std::vector<double>& least,
               const std::vector<double>& most, double first_step,
               const std::function<double(const std::vector<double>&)>& error) {
  std::vector<double> steps;
  for (const double value : parameters)
    steps.push_back(first_step * std::max(std::abs(value), kTiny));
  double lowest = error(parameters);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    bool moves = false;
    const std::vector<double> begun = parameters;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const double before = parameters[i];
      bool better = false;
      for (const double step : {steps[i], -steps[i]}) {
        parameters[i] = std::clamp(before + step, least[i], most[i]);
        if (parameters[i] == before) continue;
        const double now = error(parameters);
        if (now < lowest) {
          lowest = now;
          better = true;
          steps[i] *= 1.5;
          break;
        }
        parameters[i] = before;
      }
      if (!better) steps[i] /= 2;
      moves = moves || steps[i] > kFinest * std::max(std::abs(before), kTiny);
    }
    if (!moves) break;
    // As far again in the direction of the whole sweep: constants that trade with each other lie in
    // valleys, which steps along one of them leave (Hooke and Jeeves, 1961).
    std::vector<double> further = parameters;
    for (size_t i = 0; i < further.size(); ++i)
      further[i] = std::clamp(2 * parameters[i] - begun[i], least[i], most[i]);
    if (const double now = error(further); now < lowest) {
      lowest = now;
      parameters = further;
    }
  }
  return lowest;
}

double cost_of(double predicted, double measured) {
  if (!(predicted > 0) || !(measured > 0)) return 1e6;
  return std::pow(std::abs(std::log(predicted / measured)), 1.5);
}

bool is_held_out(uint64_t group) {
  // The finaliser of MurmurHash3: neighbours do not share a fate.
  group ^= group >> 33;
  group *= 0xff51afd7ed558ccdull;
  group ^= group >> 33;
  return group % 5 == 0;
}

}  // namespace tilepost
