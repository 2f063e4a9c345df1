#include "generator/plan/cost/predict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "generator/plan/kernels/operands.h"
#include "runtime/map/cut_points.h"
#include "runtime/map/moved_scales.h"
#include "runtime/schedule/launches.h"

namespace tilepost {
namespace {

GroupProblem problem_of(const Plan& plan) {
  return {plan.map, plan.at_once(), unit_bytes(plan, plan.map.division), plan.model,
          paths_of(plan).planned.waits == Waits::launches};
}

// Without overlap the GEMM and the collective run one after the other, each with the whole GPU.
Prediction predict_sequence(const Plan& plan) {
  GroupProblem problem = problem_of(plan);
  const tilepost_model_t model = plan.model;
  problem.model.wave = model.sequence_wave;
  const bool gathers = row_of(plan).moves_input();
  const double computed = computed_us(problem, schedule_positions(problem.map));
  const double sent = model.sequence_latency +
                      static_cast<double>(bytes_of_group(plan, 0)) * model.sequence_per_byte;
  Prediction prediction;
  prediction.gemm = computed;
  prediction.total = computed + sent;
  prediction.group_ready = {gathers ? prediction.total : computed};
  prediction.collective_start = {gathers ? 0 : computed};
  prediction.collective_end = {gathers ? sent : prediction.total};
  return prediction;
}

// Bytes that group `g` of rows of A brings in. A row has `row` bytes.
int64_t bytes_of_arrivals(const tilepost_map_t& map, size_t g, int64_t row) {
  if (g == 0) return rows_of_rank(map, 0) * row;
  const auto rows = [&](size_t at) {
    return cut_after(map, units_before(map, map.cuts[at])).elements;
  };
  return (rows(g) - rows(g - 1)) * row;
}

// What each group of a finished plan sends or brings in.
std::vector<int64_t> bytes_of_groups(const Plan& plan) {
  std::vector<int64_t> bytes;
  for (size_t g = 0; g < plan.tile_map().groups.size(); ++g)
    bytes.push_back(bytes_of_group(plan, g));
  return bytes;
}

// Times of collectives that run one after the other, each before the tiles of its group.
// `bytes`: what each brings in.
Prediction predict_collectives(const tilepost_model_t& model, const std::vector<int64_t>& bytes) {
  Prediction prediction;
  double end = 0;
  for (size_t g = 0; g < bytes.size(); ++g) {
    prediction.collective_start.push_back(end);
    end += g == 0 ? model.wait : model.latency + static_cast<double>(bytes[g]) * model.per_byte;
    prediction.collective_end.push_back(g == 0 ? end : end + model.tail);
  }
  return prediction;
}

// Communication comes first: a group's tiles are launched when its rows have come and the launch
// before has ended.
Prediction predict_launches(const Plan& plan) {
  const GroupProblem problem = problem_of(plan);
  Prediction prediction = predict_collectives(plan.model, bytes_of_groups(plan));
  double end = 0;
  for (size_t g = 0; g < plan.tile_map().groups.size(); ++g) {
    const double computed = launch_us(problem, plan.tile_map().groups[g].num_tiles);
    end = std::max(end, prediction.collective_end[g]) + computed;
    prediction.gemm += computed;
    prediction.group_ready.push_back(end);
  }
  prediction.total = end;
  return prediction;
}

// Communication comes first: a group's tiles start when its rows have come and the tiles before are
// done. Sets when each group is ready, and the end.
void predict_tiles(const GroupProblem& problem, const TileMap& map, Prediction& prediction) {
  const std::vector<tilepost_group_t>& groups = map.groups;
  for (size_t g = 0; g < groups.size(); ++g) {
    double ready = 0;
    for (size_t h = 0; h <= g; ++h) {
      const int64_t positions =
          int64_t{groups[g].first_tile} + groups[g].num_tiles - int64_t{groups[h].first_tile};
      ready = std::max(ready, prediction.collective_end[h] + computed_us(problem, positions));
    }
    prediction.group_ready.push_back(ready);
  }
  prediction.gemm = computed_us(problem, static_cast<int64_t>(map.tiles.size()));
  prediction.total = prediction.group_ready.back();
}

Prediction predict_arrivals(const Plan& plan) {
  const GroupProblem problem = problem_of(plan);
  if (problem.launches) return predict_launches(plan);
  Prediction prediction = predict_collectives(plan.model, bytes_of_groups(plan));
  predict_tiles(problem, plan.tile_map(), prediction);
  return prediction;
}

}  // namespace

double copy_us(const MachineProfile& profile, double bytes) {
  return 2 * bytes / profile.chip.copy_bytes_per_us;
}

int64_t unit_bytes(const Plan& plan, tilepost_division_t division) {
  return division == TILEPOST_DIVISION_ARRIVALS ? moved_row_bytes(plan) : bytes_of(plan.output);
}

std::string number_text(double value) {
  return fmt::format("{:.9g}", value);
}

double nine_digits(double value) {
  return std::strtod(number_text(value).c_str(), nullptr);
}

int64_t bytes_of_group(const Plan& plan, size_t g) {
  if (!row_of(plan).moves_input()) return plan.tile_map().groups[g].count * bytes_of(plan.output);
  const tilepost_map_t map = plan.map;
  const int64_t row = moved_row_bytes(plan);
  if (plan.map.division != TILEPOST_DIVISION_ARRIVALS) return plan.map.m * row;
  return bytes_of_arrivals(map, g, row);
}

double end_with_padding(const GroupProblem& problem, const std::vector<int32_t>& cuts) {
  constexpr int64_t kLong = 1 << 14;  // positions; beside these a few more clusters do not count
  tilepost_map_t map = problem.map;
  if (map.division != TILEPOST_DIVISION_ARRIVALS || problem.launches || map.cluster == 1) return 0;
  if (schedule_positions(map) > kLong) return 0;
  map.cuts = cuts.data();
  map.num_groups = static_cast<int32_t>(cuts.size());
  std::vector<int64_t> bytes;
  for (size_t g = 0; g < cuts.size(); ++g)
    bytes.push_back(bytes_of_arrivals(map, g, problem.unit_bytes));
  Prediction prediction = predict_collectives(problem.model, bytes);
  predict_tiles(problem, build_tile_map(map), prediction);
  return prediction.total;
}

Prediction predict(const Plan& plan) {
  if (plan.arch == Arch::host) return {};
  const RunPath path = paths_of(plan).planned;
  if (!path.overlaps) return predict_sequence(plan);
  if (plan.map.division == TILEPOST_DIVISION_ARRIVALS) return predict_arrivals(plan);
  Prediction prediction;
  const GroupProblem problem = problem_of(plan);
  const tilepost_model_t& model = plan.model;
  double served = 0;  // when the links are free
  for (size_t g = 0; g < plan.tile_map().groups.size(); ++g) {
    const tilepost_group_t& group = plan.tile_map().groups[g];
    const double ready = computed_us(problem, int64_t{group.first_tile} + group.num_tiles);
    const size_t lanes = static_cast<size_t>(plan.comm_lanes);
    const double lane_free = g < lanes ? 0 : prediction.collective_end[g - lanes];
    // Helper warps wait for a group while they do another group's tasks.
    const double start =
        path.kernel_does_all ? std::max(ready, served) : std::max(ready, lane_free) + plan.wait_us;
    served = std::max(ready, served) + model.latency +
             static_cast<double>(bytes_of_group(plan, g)) * model.per_byte;
    prediction.group_ready.push_back(ready);
    prediction.collective_start.push_back(start);
    prediction.collective_end.push_back(served + model.tail);
    prediction.gemm = ready;
  }
  prediction.total = prediction.collective_end.empty() ? 0 : prediction.collective_end.back();
  return prediction;
}

}  // namespace tilepost
