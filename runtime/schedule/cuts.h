// Where groups best end: the dynamic programme over cut points that the planner and a runtime with
// another m share.
//
// It is built without floating-point contraction, of additions, products and comparisons alone, so
// that the same numbers give the same cuts on every machine.
#ifndef TILEPOST_CUTS_H
#define TILEPOST_CUTS_H

#include <functional>
#include <vector>

namespace tilepost {

// What the collective over all between points `before` (-1: the start) and `end` takes.
using CutCost = std::function<double(int before, int end)>;

struct CutChoice {
  std::vector<int> ends;  // indices of the chosen points, the last one the last point
  double end = 0;         // when the last collective ends
};

// Chooses the groups whose last collective ends first: an exact dynamic programme over the points,
// end[i] = min over j < i of max(ready[i], end[j]) + cost(j, i), where ready[i] is when all before
// point i is computed. Among equals, the earliest j: the fewer groups.
CutChoice best_cuts(const std::vector<double>& ready, const CutCost& cost);

// The fewest groups whose last collective ends by `deadline`, and among as many groups the ones
// that end first: every group is one more launch, which a difference within the model's error is
// not worth. Where no `most` groups meet the deadline, the best of at most so many. most >= 1.
CutChoice fewest_cuts(const std::vector<double>& ready, const CutCost& cost, double deadline,
                      int most);

}  // namespace tilepost

#endif  // TILEPOST_CUTS_H
