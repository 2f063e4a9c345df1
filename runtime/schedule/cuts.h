// Where groups best end: a dynamic programme over cut points. The planner uses it for the plan's m,
// and a runtime for another m.
//
// The code is built without floating-point contraction, and uses only additions, products and
// comparisons. So the same numbers give the same cuts on every machine.
#ifndef TILEPOST_CUTS_H
#define TILEPOST_CUTS_H

#include <functional>
#include <vector>

namespace tilepost {

// The time that the collective takes for everything between the points `before` (-1: the start) and
// `end`.
using CutCost = std::function<double(int before, int end)>;

struct CutChoice {
  std::vector<int> ends;  // indices of the chosen points; the last index is that of the last point
  double end = 0;         // when the last collective ends
};

// Chooses the groups whose last collective ends first, by an exact dynamic programme over the
// points: end[i] = min over j < i of max(ready[i], end[j]) + cost(j, i). Here ready[i] is when
// everything before point i is computed. Among equal ends it takes the least j, and so fewer
// groups.
CutChoice best_cuts(const std::vector<double>& ready, const CutCost& cost);

// Chooses the fewest groups whose last collective ends by `deadline`. Among choices of equally many
// groups it takes the one that ends first. Each group is one more launch, which a difference within
// the model's error does not justify. If even `most` groups miss the deadline, it takes the best
// choice of at most `most` groups. Requires most >= 1.
CutChoice fewest_cuts(const std::vector<double>& ready, const CutCost& cost, double deadline,
                      int most);

}  // namespace tilepost

#endif  // TILEPOST_CUTS_H
