// The parts of the picture, from top to bottom. Lengths are in pixels of a picture that is not
// scaled. Each function draws a part from `y` on, and returns where the next part may begin.
#pragma once

#include <cstddef>

#include "generator/plan/plan.h"
#include "generator/plan/report/spans.h"
#include "generator/plan/report/svg.h"

namespace tilepost {

inline constexpr double kPictureWidth = 1200, kPictureMargin = 30;
// Bars in a row of the timelines. If there are more groups, a bar stands for several.
inline constexpr size_t kMostBars = 200;

// The timelines of the plan, of a measured run if there is one, and of the sequence, and the load
// of the links, above one axis.
double draw_times(Svg& svg, const Plan& plan, const Timeline& timeline, const Measured* measured,
                  double y);

// The map of tiles, in the left half.
double draw_tiles(Svg& svg, const Plan& plan, double y);

// What colours and words mean, beside the map. `timeline`: null where nothing is timed.
double draw_legend(Svg& svg, const Plan& plan, const Timeline* timeline, double y);

}  // namespace tilepost
