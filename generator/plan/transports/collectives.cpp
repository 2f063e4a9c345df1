// Collectives as the model sees them: a latency and a time per byte.
#include <algorithm>

#include "generator/plan/cost/predict.h"
#include "generator/plan/transports/models.h"

namespace tilepost {
namespace {

// The CTAs by which several lanes are as fast as one on as many. Links through the host are so slow
// that the last group alone takes long, and that is carried by one lane.
double busy_ctas(const MachineProfile& profile, CommChoice comm) {
  if (comm.lanes == 1) return comm.ctas;
  const double share =
      profile.peers.peer_access ? profile.collectives.lane_share : 1.0 / comm.lanes;
  return comm.ctas * share;
}

// One collective with this budget. `slower`: its time per byte next to a GEMM, relative to that
// with nothing beside it.
CollectiveModel model_one(const MachineProfile& profile, const CollectiveProfile& collective,
                          const Plan& plan, CommChoice comm, double slower) {
  // CTAs bound what a rank sends per second, and so does its link.
  const auto sent = [&](double world) { return collective.sent * (world - 1) / world; };
  const double by_ctas = interpolate(collective.us_per_mib, busy_ctas(profile, comm)) *
                         sent(plan.ranks) / sent(profile.collectives.most_ranks);
  const double by_wire = interpolate(collective.wire_us_per_mib, plan.ranks) * sent(plan.ranks);
  return {interpolate(collective.latency_us, plan.ranks),
          std::max(by_ctas, by_wire) / kMib * slower, 0};
}

bool sends_nothing(const Plan& plan) {
  return plan.ranks == 1 || !row_of(plan).communicates();
}

}  // namespace

CollectiveModel model_alone(const MachineProfile& profile, const Plan& plan) {
  if (sends_nothing(plan)) return {};
  CollectiveModel model =
      model_one(profile, profile.collectives.sequence.at(whole_collective(row_of(plan))), plan,
                {profile.collectives.default_ctas, 1}, 1.0);
  if (row_of(plan).moves_input()) {
    model.latency += profile.collectives.step_us;  // the start of the copy of the own rows
    model.per_byte += copy_us(profile, 1) / plan.ranks;
  }
  return model;
}

TransferModel model_collectives(const TransferProblem& problem,
                                const CollectiveProfiles& profiles) {
  const Plan& plan = problem.plan;
  const MachineProfile& profile = problem.profile;
  const CommChoice comm = problem.comm;
  TransferModel model;
  model.wave = problem.wave_beside;
  if (sends_nothing(plan)) return model;
  const CollectiveProfile& collective = profiles.at(group_collective(row_of(plan)));
  const double slower = comm.lanes > 1 ? interpolate(profile.collectives.lane_beside_gemm,
                                                     static_cast<double>(comm.ctas) / comm.lanes)
                                       : interpolate(collective.beside_gemm, comm.ctas);
  model.group = model_one(profile, collective, plan, comm, slower);
  // Every collective starts with a wait for its group. Chunks of A wait for no group, but a counter
  // is raised when each has arrived.
  const bool chunks = row_of(plan).moves_input();
  model.group.latency +=
      chunks ? profile.collectives.step_us : profile.collectives.wait_of(plan.wait);
  if (chunks) model.group.tail += profile.collectives.issue_us;
  if (comm.lanes == 1) return model;
  const double shown = model.group.latency * collective.lane_latency / comm.lanes;
  model.group.tail += model.group.latency - shown;
  model.group.latency = shown;
  return model;
}

}  // namespace tilepost
