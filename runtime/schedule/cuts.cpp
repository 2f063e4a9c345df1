#include "runtime/schedule/cuts.h"

#include <algorithm>
#include <limits>

namespace tilepost {

CutChoice best_cuts(const std::vector<double>& ready, const CutCost& cost) {
  const int points = static_cast<int>(ready.size());
  std::vector<double> end(points, std::numeric_limits<double>::infinity());
  std::vector<int> before(points, -1);
  for (int i = 0; i < points; ++i) {
    for (int j = -1; j < i; ++j) {
      const double start = std::max(ready[i], j < 0 ? 0.0 : end[j]);
      const double candidate = start + cost(j, i);
      if (candidate < end[i]) {
        end[i] = candidate;
        before[i] = j;
      }
    }
  }
  CutChoice choice;
  for (int i = points - 1; i >= 0; i = before[i]) choice.ends.push_back(i);
  std::ranges::reverse(choice.ends);
  choice.end = points > 0 ? end.back() : 0;
  return choice;
}

CutChoice fewest_cuts(const std::vector<double>& ready, const CutCost& cost, double deadline,
                      int most) {
  const int points = static_cast<int>(ready.size());
  // end[i]: when the best `groups` groups that cover the points up to i end. before[groups - 1][i]:
  // the point at which the last of these groups starts.
  std::vector<double> end(points);
  std::vector<std::vector<int>> before;
  size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int groups = 1; groups <= std::min(points, most); ++groups) {
    std::vector<double> next(points, std::numeric_limits<double>::infinity());
    before.emplace_back(points, -1);
    for (int i = groups - 1; i < points; ++i) {
      for (int j = groups == 1 ? -1 : groups - 2; j < (groups == 1 ? 0 : i); ++j) {
        const double candidate = std::max(ready[i], j < 0 ? 0.0 : end[j]) + cost(j, i);
        if (candidate >= next[i]) continue;
        next[i] = candidate;
        before.back()[i] = j;
      }
    }
    end = std::move(next);
    if (end.back() < least) {
      least = end.back();
      best = before.size();
    }
    if (least <= deadline) break;
  }
  CutChoice choice;
  choice.end = least;
  int i = points - 1;
  for (size_t groups = best; groups > 0; i = before[--groups][i]) choice.ends.push_back(i);
  std::ranges::reverse(choice.ends);
  return choice;
}

}  // namespace tilepost
