#include "generator/plan/profile.h"

#include <cstddef>

namespace tilepost {

namespace {

// Of every table: 128 MiB with 4, 8, 12, 16 and 24 CTAs, less the latency; fewer CTAs in
// proportion. The wire: 24 CTAs, 128 MiB, over two ranks and over four.

// 2053, 1062, 790, 657 and 612 us, less 31. 8, 32 and 128 MiB with 24 CTAs lie on one line through
// 31 us; next to a GEMM one more costs 36. Two ranks take 470 us and send 128 MiB each, four send
// 192.
CollectiveProfile all_reduce() {
  return {2,
          {{1, 63.2}, {2, 31.6}, {4, 15.8}, {8, 8.05}, {12, 5.93}, {16, 4.89}, {24, 4.54}},
          {{1, 0}, {2, 24}, {4, 36}, {8, 60}},
          {{2, 3.52}, {4, 3.03}}};
}

// 1004, 530, 426, 378 and 353 us; 8, 32 and 128 MiB with 24 CTAs take 46, 107 and 353. Two ranks
// take 296. Latencies of other numbers of ranks here and below as AllReduce's.
CollectiveProfile reduce_scatter() {
  return {1,
          {{1, 30.6}, {2, 15.3}, {4, 7.65}, {8, 3.95}, {12, 3.13}, {16, 2.76}, {24, 2.56}},
          {{1, 0}, {2, 17}, {4, 25}, {8, 42}},
          {{2, 4.36}, {4, 3.42}}};
}

// 1301, 669, 481, 383 and 346 us; 8, 32 and 128 MiB with 24 CTAs take 52, 110 and 346. Two ranks
// take 283.
CollectiveProfile all_gather() {
  return {1,
          {{1, 39.7}, {2, 19.8}, {4, 9.91}, {8, 4.98}, {12, 3.51}, {16, 2.74}, {24, 2.45}},
          {{1, 0}, {2, 21}, {4, 32}, {8, 53}},
          {{2, 4.09}, {4, 3.27}}};
}

// Grouped sends and receives, too. 1531, 823, 445, 447 and 357 us; 8 and 128 MiB with 24 CTAs take
// 44 and 357. Two ranks take 256.
CollectiveProfile all_to_all() {
  return {1,
          {{1, 47.1}, {2, 23.6}, {4, 11.8}, {8, 6.25}, {12, 3.31}, {16, 3.31}, {24, 2.61}},
          {{1, 0}, {2, 15}, {4, 23}, {8, 38}},
          {{2, 3.77}, {4, 3.48}}};
}

}  // namespace

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
      all_reduce(),
      reduce_scatter(),
      all_gather(),
      all_to_all(),
      4,
      1.07,
      // 8192 x 8192 x 2048 in two lanes: 28 CTAs 837 us in all, 32 CTAs 800, 36 CTAs 766; one lane
      // of 24 CTAs 834. So two lanes of 18 CTAs keep the links as busy as one of 24.
      0.667,
      24,
      // From the end of one collective to the start of the next 7.5, of which the poll takes 3.6.
      7.5,
      // Not measured: about what one small kernel behind another takes.
      5,
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
