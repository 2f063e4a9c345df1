#include "runtime/schedule/groups.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "runtime/map/cut_points.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/patterns.h"
#include "runtime/map/run_path.h"
#include "runtime/schedule/cuts.h"
#include "runtime/schedule/launches.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

constexpr double kNever = 1e12;  // us

bool waits(const GroupProblem& problem) {
  return problem.map.division == TILEPOST_DIVISION_ARRIVALS;
}

// The times of the points, and the cost of a group between two points. ARRIVALS is solved backwards
// in time: the tiles that wait for the last chunk come first, and the collective of the chunk
// follows the end of these tiles.
struct Timeline {
  std::vector<CutPoint> points;  // in schedule order
  std::vector<double> ready;     // times in us, in the order in which the dynamic programme visits
                                 // the points
  const GroupProblem& problem;

  int64_t own = 0, all = 0;  // ARRIVALS: how many positions wait for no other rank, and how many
                             // positions the whole schedule has

  Timeline(const GroupProblem& asked, std::vector<CutPoint> at)
      : Timeline(asked, std::move(at), cut_after(asked.map, 0).positions,
                 cut_after(asked.map, cut_units(asked.map)).positions) {}
  Timeline(const GroupProblem& asked, std::vector<CutPoint> at, int64_t first, int64_t whole)
      : points(std::move(at)), problem(asked), own(first), all(whole) {
    const tilepost_model_t& model = problem.model;
    if (!waits(problem)) {
      for (const CutPoint& point : points)
        ready.push_back(computed_us(problem, point.positions) + model.wait);
      return;
    }
    for (int i = count() - 2; i >= -1; --i)
      ready.push_back(computed_us(problem, all - (i < 0 ? own : points[i].positions)));
  }

  int count() const { return static_cast<int>(points.size()); }

  double cost(int before, int end) const {
    int first = before, last = end;
    if (waits(problem)) {
      first = count() - 2 - end;
      last = count() - 2 - before;
    }
    const int64_t elements = points[last].elements - (first < 0 ? 0 : points[first].elements);
    const int64_t bytes = elements * problem.unit_bytes, most = problem.model.most_bytes;
    if (last - first > 1 && most > 0 && bytes > most) return kNever;
    return problem.model.latency + static_cast<double>(bytes) * problem.model.per_byte;
  }

  // When the whole schedule ends, if its groups end at `programme` in the dynamic programme.
  double end(double programme) const {
    const tilepost_model_t& model = problem.model;
    if (!waits(problem)) return programme + model.tail;
    return model.wait + std::max(programme + model.tail, computed_us(problem, all));
  }
  // The inverse of end(): when the groups end in the dynamic programme, if the schedule ends at
  // `whole`.
  double programme(double whole) const {
    return whole - problem.model.tail - (waits(problem) ? problem.model.wait : 0);
  }
};

CutCost cost_of(const Timeline& timeline) {
  return [&timeline](int before, int end) { return timeline.cost(before, end); };
}

// When a schedule ends that has a group ending at each of the points; us.
double end_of(const Timeline& timeline) {
  if (timeline.problem.launches)
    return end_of_launches(timeline.problem, timeline.own, timeline.points);
  double end = 0;
  for (int i = 0; i < timeline.count(); ++i)
    end = std::max(end, timeline.ready[i]) + timeline.cost(i - 1, i);
  return timeline.end(end);
}

// round_robin: the timeline on `rank`. Every group is filled up to whole clusters, which matters
// where a share has only one or two tile rows. `map` has cuts.
Timeline timeline_of_round_robin(const GroupProblem& problem, const tilepost_map_t& map, int rank) {
  std::vector<int64_t> ends;
  int64_t positions = 0;
  for (const int64_t rows : arriving_rows(map, rank)) {
    positions += (rows + map.cluster - 1) / map.cluster * map.cluster * tiles_n(map);
    ends.push_back(positions);
  }
  std::vector<CutPoint> points;
  for (int g = 1; g < map.num_groups; ++g) {
    points.push_back(cut_at(map, map.cuts[g]));
    points.back().positions = ends[g];
  }
  return {problem, std::move(points), ends.front(), positions};
}

// The cuts of one group, which is the whole schedule.
std::vector<int32_t> one_group(const tilepost_map_t& map) {
  return {cut_after(map, cut_units(map)).cut};
}

// round_robin: when the rank that ends last ends; us. Ranks may have fewer rows of their own than
// others, or none.
double end_of_round_robin(const GroupProblem& problem, const std::vector<int32_t>& cuts) {
  tilepost_map_t map = problem.map;
  map.num_groups = static_cast<int32_t>(cuts.size());
  map.cuts = cuts.data();
  double end = 0;
  for (int rank = 0; rank < map.ranks; ++rank)
    end = std::max(end, end_of(timeline_of_round_robin(problem, map, rank)));
  return end;
}

// The groups that end at the points of `choice`.
Groups take(const Timeline& timeline, const CutChoice& choice) {
  Groups groups;
  groups.end = timeline.end(choice.end);
  if (waits(timeline.problem)) {
    groups.cuts = {0};
    for (auto it = choice.ends.rbegin() + 1; it != choice.ends.rend(); ++it)
      groups.cuts.push_back(timeline.points[timeline.count() - 2 - *it].cut);
    groups.cuts.push_back(timeline.points.back().cut);
    return groups;
  }
  int wave = 0;
  for (const int end : choice.ends) {
    groups.cuts.push_back(timeline.points[end].cut);
    groups.waves.push_back(timeline.points[end].wave - wave);
    wave = timeline.points[end].wave;
  }
  return groups;
}

Timeline timeline_of(const GroupProblem& problem) {
  return {problem, cut_points(problem.map, problem.at_once)};
}

// The groups of a GEMM that is launched for each group.
Groups launched_groups(const GroupProblem& problem, double slack, int most) {
  const Timeline timeline = timeline_of(problem);
  const CutChoice choice = best_launches(problem, timeline.own, timeline.points, slack, most - 1);
  Groups groups;
  groups.cuts = {0};
  for (const int end : choice.ends) groups.cuts.push_back(timeline.points[end].cut);
  groups.end = choice.end;
  return groups;
}

// round_robin: the cuts that divide each share into `parts` chunks, as equal as whole clusters
// allow.
std::vector<int32_t> chunks_of_shares(const tilepost_map_t& map, int64_t parts) {
  const int64_t tiles = share_tiles(map), last = arriving_tiles(map);
  std::vector<int32_t> cuts = {0};
  for (int64_t part = 1; cuts.back() < last; ++part) {
    const int64_t end = (tiles * part / parts + map.cluster - 1) / map.cluster * map.cluster;
    if (end > cuts.back()) cuts.push_back(static_cast<int32_t>(std::min(end, last)));
  }
  return cuts;
}

// round_robin: the fewest chunks that end at most a part `slack` later than the best, in at most
// `most` groups. The own share is one of these groups. Without round_robin, or if `most` has no
// room for a chunk of every share, there are no groups.
std::optional<Groups> round_robin_groups(const GroupProblem& problem, double slack, int64_t most) {
  const tilepost_map_t& map = problem.map;
  if (map.round_robin == 0) return std::nullopt;
  std::vector<Groups> all;
  for (int64_t parts = 1; parts <= share_tiles(map); parts *= 2) {
    Groups groups;
    groups.cuts = chunks_of_shares(map, parts);
    if (static_cast<int64_t>(groups.cuts.size()) > most) break;
    groups.end = end_of_groups(problem, groups.cuts);
    all.push_back(std::move(groups));
  }
  if (all.empty()) return std::nullopt;
  const double best = std::ranges::min(all, {}, &Groups::end).end;
  const auto good = [&](const Groups& groups) { return groups.end <= best * (1 + slack); };
  return *std::ranges::find_if(all, good);
}

// The map of a run without overlap, with the division that such a run has.
tilepost_map_t map_in_sequence(tilepost_map_t map) {
  if (map.division != TILEPOST_DIVISION_COLUMNS) map.division = TILEPOST_DIVISION_ROWS;
  map.round_robin = 0;
  return map;
}

// The number of CTAs that share a tile. Only gemm_sm90_small launches clusters that its map does
// not count.
int ctas_of_tile(const tilepost_plan_t& plan) {
  return std::max(1, plan.kernel.cluster / plan.map.cluster);
}

int at_most(int at_once, const tilepost_map_t& map) {
  return static_cast<int>(std::min<int64_t>(at_once, schedule_positions(map)));
}

GroupProblem problem_of(const tilepost_plan_t& plan, int64_t m) {
  GroupProblem problem{plan.map, 0, element_bytes(plan.output), plan.model};
  problem.map.m = m;
  problem.at_once = at_most(plan.gemm_ctas / ctas_of_tile(plan), problem.map);
  if (waits(problem)) problem.unit_bytes = moved_row_bytes(plan);
  problem.launches = path_of(plan, true).waits == Waits::launches;
  return problem;
}

RunSchedule in_sequence(const tilepost_plan_t& plan, int64_t m) {
  tilepost_map_t map = map_in_sequence(plan.map);
  map.m = m;
  const int split = ctas_of_tile(plan);
  const bool always = plan.transport == TILEPOST_TRANSPORT_NONE;
  const int at_once = at_most((always ? plan.gemm_ctas : plan.model.sequence_ctas) / split, map);
  // Fewer SMs may take equally many waves. The other SMs then stay idle, and the SMs that work
  // clock higher.
  const int64_t least = least_at_once(map, schedule_waves(map, at_once));
  return {false, map.division, one_group(map), static_cast<int32_t>(least * split)};
}

}  // namespace

int32_t launch_ctas(const tilepost_plan_t& plan, int32_t gemm_ctas, int32_t positions) {
  return std::min(gemm_ctas, positions * ctas_of_tile(plan));
}

RunSchedule schedule_for(const tilepost_plan_t& plan, int64_t m) {
  if (m == plan.map.m)
    return {plan.transport != TILEPOST_TRANSPORT_NONE, plan.map.division,
            std::vector<int32_t>(plan.map.cuts, plan.map.cuts + plan.map.num_groups),
            plan.gemm_ctas};
  if (plan.transport == TILEPOST_TRANSPORT_NONE) return in_sequence(plan, m);
  const GroupProblem problem = problem_of(plan, m);
  const int split = ctas_of_tile(plan);
  if (plan.model.sequence_ctas > 0) {
    const int at_once = at_most(plan.model.sequence_ctas / split, problem.map);
    if (!overlap_pays(best_groups(problem).end, sequence_us(problem, at_once), plan.model.margin))
      return in_sequence(plan, m);
  }
  const Groups groups = plan.model.wave > 0 ? fewest_groups(problem, plan.map.num_groups)
                                            : even_groups(problem, plan.map.num_groups);
  return {true, plan.map.division, groups.cuts, problem.at_once * split};
}

Groups best_groups(const GroupProblem& problem) {
  if (auto chunks = round_robin_groups(problem, 0, INT32_MAX)) return *chunks;
  if (problem.launches) return launched_groups(problem, 0, INT32_MAX);
  const Timeline timeline = timeline_of(problem);
  return take(timeline, best_cuts(timeline.ready, cost_of(timeline)));
}

Groups fewest_groups(const GroupProblem& problem, int most) {
  if (auto chunks = round_robin_groups(problem, problem.model.slack, most)) return *chunks;
  if (problem.launches) return launched_groups(problem, problem.model.slack, most);
  const Timeline timeline = timeline_of(problem);
  const CutCost cost = cost_of(timeline);
  const double best = timeline.end(best_cuts(timeline.ready, cost).end);
  const double deadline = timeline.programme(best * (1 + problem.model.slack));
  const int chunks = std::max(1, waits(problem) ? most - 1 : most);
  return take(timeline, fewest_cuts(timeline.ready, cost, deadline, chunks));
}

Groups even_groups(const GroupProblem& problem, int most) {
  constexpr int kParts = 3;
  const Timeline timeline = timeline_of(problem);
  const int last = timeline.count() - 1;
  CutChoice choice;
  if (waits(problem)) {
    // The dynamic programme has the groups in reverse order, so the odd group may be the last
    // chunk.
    const int parts = std::max(1, std::min({last + 1, kParts, most - 1}));
    for (int part = 1; part <= parts; ++part) choice.ends.push_back((last + 1) * part / parts - 1);
    return take(timeline, choice);
  }
  if (last == 0 || most == 1) {
    choice.ends = {last};
    return take(timeline, choice);
  }
  choice.ends = {0};
  const int parts = std::min({last, kParts, most - 1});
  for (int part = 1; part <= parts; ++part) choice.ends.push_back(last * part / parts);
  return take(timeline, choice);
}

double end_of_groups(const GroupProblem& problem, const std::vector<int32_t>& cuts) {
  if (problem.map.round_robin != 0) return end_of_round_robin(problem, cuts);
  std::vector<CutPoint> points;
  for (size_t g = waits(problem) ? 1 : 0; g < cuts.size(); ++g)
    points.push_back(cut_after(problem.map, units_before(problem.map, cuts[g])));
  return end_of(Timeline(problem, std::move(points)));
}

double computed_us(const GroupProblem& problem, int64_t positions) {
  const tilepost_model_t& model = problem.model;
  const int64_t waves = (positions + problem.at_once - 1) / problem.at_once;
  const double read = model.read_b + static_cast<double>(problem.map.m) * model.read_row;
  const double part = std::min(
      1.0, static_cast<double>(positions) / static_cast<double>(schedule_positions(problem.map)));
  return model.start + std::max(static_cast<double>(waves) * model.wave, part * read);
}

double sequence_gemm_us(const GroupProblem& problem, int sequence_at_once) {
  const tilepost_model_t& model = problem.model;
  const tilepost_map_t map = map_in_sequence(problem.map);
  const double computed =
      std::max(static_cast<double>(schedule_waves(map, sequence_at_once)) * model.sequence_wave,
               model.read_b + static_cast<double>(map.m) * model.read_row);
  return model.start + computed;
}

double sequence_us(const GroupProblem& problem, int sequence_at_once) {
  const tilepost_model_t& model = problem.model;
  const tilepost_map_t map = map_in_sequence(problem.map);
  const int64_t elements = waits(problem) ? map.m : cut_after(map, cut_units(map)).elements;
  return sequence_gemm_us(problem, sequence_at_once) + model.sequence_latency +
         static_cast<double>(elements * problem.unit_bytes) * model.sequence_per_byte;
}

bool overlap_pays(double overlapped_us, double sequence_us, double margin) {
  return overlapped_us < sequence_us * (1 - margin);
}

}  // namespace tilepost
