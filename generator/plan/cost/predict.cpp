#include "generator/plan/cost/predict.h"

#include <algorithm>
#include <cstdlib>

#include "generator/plan/report/describe.h"
#include "runtime/map/cuts.h"

namespace tilepost {
namespace {

constexpr double kStreamWaitUs = 10;  // cuStreamWaitValue32, measured beside the poll's 3.6
constexpr double kMib = 1 << 20;
constexpr int64_t kElementBytes = 2;

const CollectiveProfile& collective_of(const MachineProfile& profile, tilepost_pattern_t pattern,
                                       tilepost_transport_t transport) {
  const bool symmetric = transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
  const CollectiveProfile& exchange = symmetric ? profile.symmetric_all_to_all : profile.all_to_all;
  switch (pattern) {
    case TILEPOST_GEMM_REDUCE_SCATTER:
      return symmetric ? profile.symmetric_reduce_scatter : profile.reduce_scatter;
    case TILEPOST_ALL_GATHER_GEMM:
      return transport == TILEPOST_TRANSPORT_NONE ? profile.all_gather : exchange;
    case TILEPOST_GEMM_ALL_TO_ALL:
      return exchange;
    case TILEPOST_GEMM_ALL_REDUCE:
    case TILEPOST_GEMM:
      break;
  }
  return symmetric ? profile.symmetric_all_reduce : profile.all_reduce;
}

// Time per byte next to a GEMM over alone. Chunks of all_gather_gemm are the sends and receives of
// All-to-All, but beside a GEMM that reads what they write.
double slowdown(const MachineProfile& profile, tilepost_pattern_t pattern,
                tilepost_transport_t transport, CommChoice comm) {
  if (comm.lanes > 1)
    return interpolate(profile.lane_beside_gemm, static_cast<double>(comm.ctas) / comm.lanes);
  const bool chunks = pattern == TILEPOST_ALL_GATHER_GEMM;
  return interpolate(
      (chunks ? profile.all_gather : collective_of(profile, pattern, transport)).beside_gemm,
      comm.ctas);
}

GroupProblem problem_of(const Plan& plan) {
  return {plan.map, plan.at_once(), unit_bytes(plan, plan.map.division), plan.model};
}

// Without overlap: one after the other, each with the whole GPU.
Prediction predict_sequence(const Plan& plan) {
  GroupProblem problem = problem_of(plan);
  const tilepost_model_t model = plan.model;
  problem.model.wave = model.sequence_wave;
  const bool gathers = plan.pattern == TILEPOST_ALL_GATHER_GEMM;
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

// Communication first: a group's tiles start when they have come and the ones before are done.
Prediction predict_arrivals(const Plan& plan) {
  const GroupProblem problem = problem_of(plan);
  const tilepost_model_t& model = plan.model;
  const std::vector<tilepost_group_t>& groups = plan.tile_map().groups;
  Prediction prediction;
  double end = 0;
  for (size_t g = 0; g < groups.size(); ++g) {
    const double bytes = static_cast<double>(bytes_of_group(plan, g));
    prediction.collective_start.push_back(end);
    end += g == 0 ? model.wait : model.latency + bytes * model.per_byte;
    prediction.collective_end.push_back(g == 0 ? end : end + model.tail);
    double ready = 0;
    for (size_t h = 0; h <= g; ++h) {
      const int64_t positions =
          int64_t{groups[g].first_tile} + groups[g].num_tiles - int64_t{groups[h].first_tile};
      ready = std::max(ready, prediction.collective_end[h] + computed_us(problem, positions));
    }
    prediction.group_ready.push_back(ready);
  }
  prediction.gemm = computed_us(problem, static_cast<int64_t>(plan.tile_map().tiles.size()));
  prediction.total = prediction.group_ready.back();
  return prediction;
}

}  // namespace

CollectiveModel model_collective(tilepost_pattern_t pattern, tilepost_transport_t transport,
                                 int ranks, CommChoice comm, double wait) {
  if (ranks == 1 || !communicates(pattern)) return {};
  const MachineProfile& profile = h200_nvlink_profile();
  const bool beside_gemm = transport != TILEPOST_TRANSPORT_NONE;
  const CollectiveProfile& collective = collective_of(profile, pattern, transport);
  // CTAs bound what a rank sends per second, and so does its link.
  const auto sent = [&](double world) { return collective.sent * (world - 1) / world; };
  const double busy = comm.lanes > 1 ? comm.ctas * profile.lane_share : comm.ctas;
  const double by_ctas =
      interpolate(collective.us_per_mib, busy) * sent(ranks) / sent(profile.collective_ranks);
  const double by_wire = interpolate(collective.wire_us_per_mib, ranks) * sent(ranks);
  const double factor = beside_gemm ? slowdown(profile, pattern, transport, comm) : 1.0;
  double latency = interpolate(collective.latency_us, ranks) + wait;
  double per_byte = std::max(by_ctas, by_wire) / kMib * factor;
  if (pattern == TILEPOST_ALL_GATHER_GEMM) {
    latency += profile.step_us;  // the post of an arrival, or the start of the copy
    if (!beside_gemm) per_byte += copy_us(1) / ranks;
  }
  if (comm.lanes == 1) return {latency, per_byte, 0};
  const double shown = latency * collective.lane_latency / comm.lanes;
  return {shown, per_byte, latency - shown};
}

double copy_us(double bytes) {
  return 2 * bytes / h200_nvlink_profile().copy_bytes_per_us;
}

double wait_us(tilepost_wait_t wait) {
  return wait == TILEPOST_WAIT_STREAM ? kStreamWaitUs : h200_nvlink_profile().wait_us;
}

int64_t unit_bytes(const Plan& plan, tilepost_division_t division) {
  return division == TILEPOST_DIVISION_ARRIVALS ? plan.k * bytes_of(plan.input) : kElementBytes;
}

double nine_digits(double value) {
  return std::strtod(number_text(value).c_str(), nullptr);
}

int64_t bytes_of_group(const Plan& plan, size_t g) {
  if (plan.pattern != TILEPOST_ALL_GATHER_GEMM)
    return plan.tile_map().groups[g].count * kElementBytes;
  const tilepost_map_t map = plan.map;
  const int64_t row = plan.k * bytes_of(plan.input);
  if (plan.map.division != TILEPOST_DIVISION_ARRIVALS) return plan.map.m * row;
  if (g == 0) return rows_of_rank(map, 0) * row;
  const auto rows = [&](size_t at) {
    return cut_after(map, units_before(map, map.cuts[at])).elements;
  };
  return (rows(g) - rows(g - 1)) * row;
}

Prediction predict(const Plan& plan) {
  if (plan.arch == Arch::host) return {};
  if (plan.transport == TILEPOST_TRANSPORT_NONE) return predict_sequence(plan);
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
    // Helper warps wait for a group while they do another's tasks.
    const double start = plan.task_parts > 0 ? std::max(ready, served)
                                             : std::max(ready, lane_free) + wait_us(plan.wait);
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
