// Tables of a machine profile: what was measured at some points, and holds between them.
#pragma once

#include <vector>

namespace tilepost {

// One row of a table: y at x.
struct ProfilePoint {
  double x, y;
};

// Linear between points, constant outside. `points` is sorted by x and not empty.
double interpolate(const std::vector<ProfilePoint>& points, double x);

}  // namespace tilepost
