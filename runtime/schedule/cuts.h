// Where groups best end: a dynamic programme over cut points. The planner uses it, and so does a
// runtime for another m.
//
// It is built without floating-point contraction, and it uses only additions, products and
// comparisons, so that the same numbers give the same cuts on every machine.
#ifndef TILEPOST_CUTS_H
#define TILEPOST_CUTS_H

#include <functional>
#include <vector>

namespace tilepost {

// How long the collective takes over everything between points `before` (-1: the start) and `end`.
using CutCost = std::function<double(int before, int end)>;

struct CutChoice {
  std::vector<int> ends;  // indices of the chosen points, the last one the last point
  double end = 0;         // when the last collective ends
};

// Chooses the groups whose last collective ends first, by an exact dynamic programme over the
// points: end[i] = min over j < i of max(ready[i], end[j]) + cost(j, i), where ready[i] is when
// everything before point i is computed. Among equal ends it takes the earliest j, and so fewer
// groups.
CutChoice best_cuts(const std::vector<double>& ready, const CutCost& cost);

// The fewest groups whose last collective ends by `deadline`, and among choices with as many groups
// the one that ends first. Every group is one more launch, which a difference within the model's
// error is not worth. If even `most` groups miss the deadline, the best choice of at most `most`
// groups. most >= 1.
CutChoice fewest_cuts(const std::vector<double>& ready, const CutCost& cost, double deadline,
                      int most);

}  // namespace tilepost

#endif  // TILEPOST_CUTS_H
