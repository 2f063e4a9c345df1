#include "generator/plan/report/spans.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "generator/plan/cost/predict.h"
#include "runtime/map/patterns.h"

namespace tilepost {
namespace {

// The collective's name in one word.
const char* collective_of(const Plan& plan) {
  return row_of(plan).routes() ? "AllToAll" : row_of(plan).collective;
}

bool has_tiles(const Plan& plan, size_t group) {
  return plan.tile_map().groups[group].num_tiles > 0;
}

void add_gemm(const Plan& plan, Timeline& timeline) {
  const Prediction& prediction = plan.prediction;
  double before = 0;
  int waves = 0;
  for (size_t g = 0; g < prediction.group_ready.size(); ++g) {
    if (timeline.comes_first) before = std::max(before, prediction.collective_end[g]);
    waves += plan.group_waves[g];
    if (has_tiles(plan, g)) {
      timeline.gemm.push_back({before, prediction.group_ready[g], static_cast<int>(g)});
      timeline.waves.push_back(std::exchange(waves, 0));
    }
    before = prediction.group_ready[g];
  }
}

void add_lanes(const Plan& plan, Timeline& timeline) {
  const Prediction& prediction = plan.prediction;
  timeline.lanes.resize(plan.comm_lanes);
  for (size_t g = 0; g < prediction.group_ready.size(); ++g) {
    const Span sent = {prediction.collective_start[g], prediction.collective_end[g],
                       static_cast<int>(g)};
    if (sent.length() > 0) timeline.lanes[g % timeline.lanes.size()].push_back(sent);
  }
}

void add_measured_gemm(const Plan& plan, const Measured& measured, Timeline& timeline) {
  double before = 0;
  int waves = 0;
  for (size_t g = 0; g < measured.groups.size(); ++g) {
    const Measured::Group& group = measured.groups[g];
    waves += plan.group_waves[g];
    if (!group.tiles_end) continue;
    if (timeline.comes_first) before = std::max(before, group.steps_end.value_or(0));
    // Tiles of the group may have ended before those of an earlier one.
    const double end = *group.tiles_end;
    timeline.gemm.push_back({std::min(before, end), end, static_cast<int>(g)});
    timeline.waves.push_back(std::exchange(waves, 0));
    before = std::max(before, end);
  }
}

void add_measured_lanes(const Plan& plan, const Measured& measured, Timeline& timeline) {
  timeline.lanes.resize(plan.comm_lanes);
  for (size_t g = 0; g < measured.groups.size(); ++g) {
    const Measured::Group& group = measured.groups[g];
    if (!group.steps_end) continue;
    std::vector<Span>& lane = timeline.lanes[g % timeline.lanes.size()];
    const double before = lane.empty() ? 0 : lane.back().end;
    const double begin = std::min(group.steps_begin.value_or(before), *group.steps_end);
    lane.push_back({begin, *group.steps_end, static_cast<int>(g)});
  }
  // Kernels have exchanged everything by themselves.
  if (std::ranges::all_of(timeline.lanes, &std::vector<Span>::empty)) timeline.lanes.clear();
}

// The GEMM's track where it is empty. In front of a run that sends its product there is no gap.
void add_exposed(Timeline& timeline) {
  timeline.exposed_us = timeline.total - timeline.gemm_us;
  double before = 0;
  for (const Span& span : timeline.gemm) {
    if (timeline.comes_first && span.begin > before)
      timeline.exposed.push_back({before, span.begin, span.group});
    before = std::max(before, span.end);
  }
  if (timeline.total > before)
    timeline.exposed.push_back({before, timeline.total, timeline.gemm.back().group});
}

void add_load(const Plan& plan, Timeline& timeline) {
  const Prediction& prediction = plan.prediction;
  // model.tail belongs to each chunk where rows of A arrive, otherwise to the run's last
  // collective.
  const double tail = timeline.overlaps ? plan.model.tail : 0;
  // The first group of arrivals is this rank's own rows.
  const bool own_first = plan.map.division == TILEPOST_DIVISION_ARRIVALS;
  double served = 0;
  for (size_t g = own_first ? 1 : 0; g < prediction.group_ready.size(); ++g) {
    const double free = std::max(served, prediction.collective_start[g]);
    served = prediction.collective_end[g] - tail;
    if (served <= free) continue;
    const double rate = static_cast<double>(bytes_of_group(plan, g)) * 1e-3 / (served - free);
    timeline.load.push_back({{free, served, static_cast<int>(g)}, rate});
  }
}

void add_sequence(const Plan& plan, Timeline& timeline) {
  const Prediction& prediction = plan.prediction;
  if (prediction.sequence_gemm <= 0) return;
  timeline.sequence = prediction.sequence;
  const double sent = prediction.sequence - prediction.sequence_gemm;
  timeline.sequence_gemm = {0, prediction.sequence_gemm};
  timeline.sequence_sent = {prediction.sequence_gemm, prediction.sequence};
  if (timeline.comes_first) {
    timeline.sequence_sent = {0, sent};
    timeline.sequence_gemm = {sent, prediction.sequence};
  }
}

}  // namespace

std::optional<Timeline> timeline_of(const Plan& plan) {
  const Prediction& prediction = plan.prediction;
  if (prediction.group_ready.empty() || prediction.total <= 0) return std::nullopt;
  Timeline timeline;
  timeline.overlaps = paths_of(plan).planned.overlaps;
  timeline.comes_first = row_of(plan).moves_input();
  timeline.collective = collective_of(plan);
  timeline.total = prediction.total;
  timeline.gemm_us = prediction.gemm;
  add_gemm(plan, timeline);
  if (!row_of(plan).communicates()) return timeline;
  add_lanes(plan, timeline);
  add_exposed(timeline);
  add_load(plan, timeline);
  add_sequence(plan, timeline);
  return timeline;
}

Timeline timeline_of(const Plan& plan, const Measured& measured) {
  Timeline timeline;
  timeline.overlaps = paths_of(plan).planned.overlaps;
  timeline.comes_first = row_of(plan).moves_input();
  timeline.collective = collective_of(plan);
  timeline.total = measured.total;
  add_measured_gemm(plan, measured, timeline);
  for (const Span& span : timeline.gemm) timeline.gemm_us += span.length();
  if (!row_of(plan).communicates()) return timeline;
  add_measured_lanes(plan, measured, timeline);
  if (!timeline.gemm.empty()) add_exposed(timeline);
  return timeline;
}

std::vector<std::vector<Span>> rows_without_overlap(const std::vector<Span>& lane) {
  using Row = std::pair<double, size_t>;  // when the row's last span ends, the row's number
  std::priority_queue<Row, std::vector<Row>, std::greater<>> free;
  std::vector<std::vector<Span>> rows;
  for (const Span& span : lane) {
    size_t row = rows.size();
    if (!free.empty() && free.top().first <= span.begin) {
      row = free.top().second;
      free.pop();
    } else {
      rows.emplace_back();
    }
    rows[row].push_back(span);
    free.push({span.end, row});
  }
  return rows;
}

}  // namespace tilepost
