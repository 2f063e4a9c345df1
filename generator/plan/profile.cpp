#include "generator/plan/profile.h"

#include <cstddef>

namespace tilepost {

const MachineProfile& h200_nvlink_profile() {
  static const MachineProfile profile = {
      "4 x H200, NVLink",
      // Fitted, with the rows' clocks and epilogues, to 11 shapes on 104 to 132 SMs, to 1% where
      // waves are full.
      128,
      0.384,
      1.95,
      46,
      4.25e6,
      0.95,
      0.62,
      0.98,
      1.012,
      0.954,
      1.12,
      1.02,
      {{1, 0.3}, {2, 0.55}, {4, 0.8}, {8, 1.0}},
      3.9,
      // On 114 SMs beside collectives 8192 x 8192 x 7168 ends at 1415 us: what fewer SMs save of
      // the power goes to the collectives.
      1.017,
      4,
      // From 128 MiB: 2053, 1062, 790, 657 and 612 us with 4, 8, 12, 16 and 24 CTAs, less 31 us.
      // 8, 32 and 128 MiB with 24 CTAs lie on one line through 31 us.
      {{1, 63.2}, {2, 31.6}, {4, 15.8}, {8, 8.05}, {12, 5.93}, {16, 4.89}, {24, 4.54}},
      {{1, 0}, {2, 24}, {4, 36}, {8, 60}},
      // 24 CTAs, 128 MiB: two ranks take 470 us and send 128 MiB each, four take 612 and send 192.
      {{2, 3.52}, {4, 3.03}},
      1.07,
      // 8192 x 8192 x 2048 in two lanes: 28 CTAs 837 us in all, 32 CTAs 800, 36 CTAs 766; one lane
      // of 24 CTAs 834. So two lanes of 18 CTAs keep the links as busy as one of 24.
      0.667,
      24,
      // From the end of one collective to the start of the next 7.5, of which the poll takes 3.6.
      7.5,
  };
  return profile;
}

double interpolate(const std::vector<ProfilePoint>& points, double x) {
  if (x <= points.front().x) return points.front().y;
  for (size_t i = 1; i < points.size(); ++i) {
    if (x > points[i].x) continue;
    const double part = (x - points[i - 1].x) / (points[i].x - points[i - 1].x);
    return points[i - 1].y + part * (points[i].y - points[i - 1].y);
  }
  return points.back().y;
}

}  // namespace tilepost
