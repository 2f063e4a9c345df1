#include "generator/plan/choose/ranges.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "generator/plan/choose/plan_of_run.h"

namespace tilepost {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// The part of the mean time of runs that one more kernel has to save: it costs memory, code and
// time to make.
constexpr double kWorthAKernel = 0.02;

// With few rows, the best kernel and transport depend on the number of rows. Beyond these bounds
// one plan does as well as several.
constexpr int64_t kBounds[] = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096};

// The sum of the times of the runs [first, end) by a plan, each relative to the best plan's. kNever
// if the plan has no room for one of them, or the last plan is faster.
double cost_of(const std::vector<RangeTimes>& plans, size_t plan, size_t first, size_t end) {
  double sum = 0;
  for (size_t run = first; run < end; ++run) {
    if (run >= plans[plan].us.size()) return kNever;
    const double us = plans[plan].us[run];
    if (us > plans.back().us[run]) return kNever;
    double best = us;
    for (const RangeTimes& other : plans)
      if (run < other.us.size()) best = std::min(best, other.us[run]);
    sum += us / best;
  }
  return sum;
}

// Plans that together serve the first runs, and the sum of their costs by cost_of.
struct Served {
  double cost = kNever;
  std::vector<size_t> plans;
};

}  // namespace

std::vector<int64_t> range_bounds(int64_t most) {
  std::vector<int64_t> bounds;
  for (const int64_t bound : kBounds)
    if (bound < most) bounds.push_back(bound);
  bounds.push_back(most);
  return bounds;
}

std::vector<int64_t> range_runs(const std::vector<int64_t>& bounds) {
  std::vector<int64_t> runs;
  int64_t last = 0;
  for (const int64_t bound : bounds) {
    if (last + 1 < bound) runs.push_back(last + 1);
    runs.push_back(bound);
    last = bound;
  }
  return runs;
}

RangeTimes times_of(const Plan& plan, const std::vector<int64_t>& runs) {
  RangeTimes times{rows_of_runs(plan), {}};
  for (const int64_t m : runs)
    if (m <= times.most_rows) times.us.push_back(plan_of_run(plan, m).prediction.total);
  return times;
}

// served[k][p]: how k plans, the last of which is plan p, serve the runs up to the largest of p.
std::vector<size_t> best_ranges(const std::vector<RangeTimes>& plans, size_t most) {
  const size_t last = plans.size() - 1;
  const auto runs = static_cast<double>(plans[last].us.size());
  std::vector<std::vector<Served>> served(most + 1, std::vector<Served>(plans.size()));
  for (size_t plan = 0; plan <= last; ++plan)
    served[1][plan] = {cost_of(plans, plan, 0, plans[plan].us.size()), {plan}};
  for (size_t count = 2; count <= most; ++count)
    for (size_t plan = 0; plan <= last; ++plan)
      for (size_t before = 0; before < plan; ++before) {
        const Served& rest = served[count - 1][before];
        const double cost =
            rest.cost + cost_of(plans, plan, plans[before].us.size(), plans[plan].us.size());
        if (cost >= served[count][plan].cost) continue;
        served[count][plan] = {cost, rest.plans};
        served[count][plan].plans.push_back(plan);
      }
  size_t best = 1;
  for (size_t count = 2; count <= most; ++count) {
    const double gain = served[best][last].cost - served[count][last].cost;
    if (gain > kWorthAKernel * runs * static_cast<double>(count - best)) best = count;
  }
  return served[best][last].plans;
}

}  // namespace tilepost
