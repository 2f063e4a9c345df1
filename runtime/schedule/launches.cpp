#include "runtime/schedule/launches.h"

#include <algorithm>
#include <limits>

namespace tilepost {
namespace {

// Schedules with more launches are not tried, because each launch has a start and a last wave of
// its own.
constexpr int kMostLaunches = 16;

// When the rows of a group have arrived, if it is the `number`th group to arrive and ends at
// `point`; us.
double arrival_us(const GroupProblem& problem, int number, const CutPoint& point) {
  const tilepost_model_t& model = problem.model;
  const auto bytes = static_cast<double>(point.elements * problem.unit_bytes);
  return model.wait + number * model.latency + bytes * model.per_byte + model.tail;
}

double end_of_own(const GroupProblem& problem, int64_t own) {
  return problem.model.wait + launch_us(problem, own);
}

// For a fixed number of groups: the point at which the group before the last one ends, by the point
// at which the last group ends.
using Before = std::vector<int>;

// The best end of `number` groups, by the point at which the last group ends. `fewer`: the best end
// of one group fewer, also by point.
std::vector<double> add_group(const GroupProblem& problem, int64_t own,
                              const std::vector<CutPoint>& points, int number,
                              const std::vector<double>& fewer, Before& before) {
  const int count = static_cast<int>(points.size());
  std::vector<double> ends(count, std::numeric_limits<double>::infinity());
  before.assign(count, -1);
  for (int i = number - 1; i < count; ++i) {
    const double arrived = arrival_us(problem, number, points[i]);
    for (int j = number == 1 ? -1 : number - 2; j < (number == 1 ? 0 : i); ++j) {
      const double free = j < 0 ? end_of_own(problem, own) : fewer[j];
      const int64_t first = j < 0 ? own : points[j].positions;
      const double end = std::max(arrived, free) + launch_us(problem, points[i].positions - first);
      if (end >= ends[i]) continue;
      ends[i] = end;
      before[i] = j;
    }
  }
  return ends;
}

}  // namespace

double launch_us(const GroupProblem& problem, int64_t positions) {
  if (positions <= 0) return 0;
  const tilepost_model_t& model = problem.model;
  const int64_t waves = (positions + problem.at_once - 1) / problem.at_once;
  const double part =
      static_cast<double>(positions) / static_cast<double>(schedule_positions(problem.map));
  const double read = model.read_b + part * static_cast<double>(problem.map.m) * model.read_row;
  return model.start + std::max(static_cast<double>(waves) * model.wave, read);
}

double end_of_launches(const GroupProblem& problem, int64_t own,
                       const std::vector<CutPoint>& points) {
  double end = end_of_own(problem, own);
  int64_t first = own;
  for (size_t i = 0; i < points.size(); ++i) {
    const double arrived = arrival_us(problem, static_cast<int>(i) + 1, points[i]);
    end = std::max(end, arrived) + launch_us(problem, points[i].positions - first);
    first = points[i].positions;
  }
  return end;
}

CutChoice best_launches(const GroupProblem& problem, int64_t own,
                        const std::vector<CutPoint>& points, double slack, int most) {
  const int count = static_cast<int>(points.size());
  const int groups = std::max(1, std::min({count, most, kMostLaunches}));
  std::vector<double> ends, whole;  // `ends`: by point, the best end of `number` groups. `whole`:
                                    // by the number of groups, the end of the whole schedule
  std::vector<Before> before(groups);
  for (int number = 1; number <= groups; ++number) {
    ends = add_group(problem, own, points, number, ends, before[number - 1]);
    whole.push_back(ends.back());
  }
  const double deadline = *std::ranges::min_element(whole) * (1 + slack);
  const auto found = std::ranges::find_if(whole, [&](double end) { return end <= deadline; });
  CutChoice choice;
  choice.end = *found;
  int point = count - 1;
  for (auto number = found - whole.begin(); number >= 0; point = before[number--][point])
    choice.ends.push_back(point);
  std::ranges::reverse(choice.ends);
  return choice;
}

}  // namespace tilepost
