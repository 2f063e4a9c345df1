// What ranks take that touch each other's memory: copy engines that read it, and kernels that store
// into it.
#include <algorithm>

#include "generator/plan/cost/predict.h"

namespace tilepost {
namespace {

constexpr double kMib = 1 << 20;
// Waves of the first group, before which there is nothing to move.
constexpr int kFirstWaves = 1;

// Of the bytes of a group, what a rank sends.
double sent_part(int ranks) {
  return (ranks - 1.0) / ranks;
}

// Bringing a byte of a group to where it belongs, every rank at once, at so much for what it sends.
double per_byte(const Plan& plan, double us_per_mib) {
  return us_per_mib * sent_part(plan.ranks) / kMib;
}

double copy_per_byte(const Plan& plan) {
  const CopyProfile& copies = h200_nvlink_profile().copies;
  return per_byte(plan, interpolate(copies.us_per_mib, plan.ranks));
}

double store_per_byte(const Plan& plan) {
  return per_byte(plan, h200_nvlink_profile().stores.us_per_mib);
}

// What is moved within a rank's memory for a byte of a group: parts are read and their sum is
// written, twice where others read it; rows that are only passed on are read and written.
double moved_per_byte(const Plan& plan, tilepost_transport_t transport) {
  if (reduces(plan.pattern)) {
    const int written = plan.pattern == TILEPOST_GEMM_ALL_REDUCE ? 2 : 1;
    // What has been added already is one part, which is read and cleared.
    const int parts = plan.sum == TILEPOST_SUM_ADDED ? 2 : plan.ranks;
    return static_cast<double>(parts + written) / plan.ranks;
  }
  return transport == TILEPOST_TRANSPORT_PEER
             ? 2
             : 2.0 / plan.ranks;  // all that landed, or the own rows
}

// Moving, which runs on the SMs that the GEMM leaves free from the first group on, and on all of
// them when the GEMM has ended.
struct Moving {
  double per_byte;  // of a group, on the whole
  double left;      // the part of it that is done when the GEMM has ended
};

Moving moving(const Plan& plan, tilepost_transport_t transport, const SharedProblem& problem) {
  const SumProfile& sums = h200_nvlink_profile().sums;
  const double all = moved_per_byte(plan, transport) * problem.bytes;
  const double beside = (problem.comm.ctas + 1) * sums.sm_bytes_per_us;
  const double meanwhile = problem.computed - kFirstWaves * problem.wave;
  const double left = std::max(0.0, all - beside * meanwhile);
  const double us = std::min(all / beside, meanwhile + left / sums.memory_bytes_per_us);
  return {us / problem.bytes, left / all};
}

// Sums that all ranks wait for keep their copies back. What nobody waits for is the faster the less
// of it is left.
double with_sums(const Plan& plan, const Moving& moving, double transfers) {
  if (plan.pattern == TILEPOST_GEMM_ALL_REDUCE)
    return std::max(moving.per_byte + moving.left * copy_per_byte(plan), transfers);
  const double shown = reduces(plan.pattern) ? h200_nvlink_profile().sums.unawaited : 1;
  return std::max(shown * moving.per_byte, transfers);
}

// Of the latency of a group, what lanes do not hide.
void hide(const CopyProfile& copies, int lanes, CollectiveModel& group) {
  if (lanes == 1) return;
  const double shown = group.latency * copies.lane_latency / lanes;
  group.tail += group.latency - shown;
  group.latency = shown;
}

CollectiveModel model_copies(const Plan& plan, const SharedProblem& problem) {
  const CopyProfile& copies = h200_nvlink_profile().copies;
  const bool twice = plan.pattern == TILEPOST_GEMM_ALL_REDUCE;
  CollectiveModel group;
  group.latency =
      copies.latency_us * (twice ? 2 : 1) + wait_us(plan.wait) - wait_us(TILEPOST_WAIT_POLL);
  group.per_byte = with_sums(plan, moving(plan, TILEPOST_TRANSPORT_COPY_ENGINE, problem),
                             copy_per_byte(plan) * (twice ? copies.both_ways : 1));
  hide(copies, problem.comm.lanes, group);
  return group;
}

// What all ranks get travels once more, a byte of a group in `spread`, and shares the links with
// the stores of what is computed meanwhile: fully where both together take longer than the GEMM.
double spread_per_byte(const SharedProblem& problem, double spread, double stored) {
  const double busy = std::min(1.0, (spread + stored) * problem.bytes / problem.computed);
  return spread + busy * stored;
}

// The GEMM beside pushes of all that the plan communicates, by helper warps or copy engines: tensor
// cores wait while L2 serves them.
double computed_beside(const std::vector<ProfilePoint>& us_per_mib, const Plan& plan,
                       const SharedProblem& problem) {
  const double slowed = per_byte(plan, interpolate(us_per_mib, plan.ranks));
  return problem.computed + slowed * problem.bytes;
}

double computed_beside_pushes(const Plan& plan, const SharedProblem& problem) {
  return computed_beside(h200_nvlink_profile().tasks.pushed_us_per_mib, plan, problem);
}

// Helper warps go on with one group while the links carry tiles and sums of others, so that no
// latency shows but those of the last: of its tiles and of its sums. They read what they add up,
// and what has landed.
CollectiveModel model_pushed_sums(const Plan& plan, const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  const double moved = (1 + sent_part(plan.ranks)) / profile.tasks.bytes_per_us;
  const double both = per_byte(plan, profile.stores.both_us_per_mib);
  SharedProblem beside = problem;
  beside.computed = computed_beside_pushes(plan, problem);
  const double pushed = spread_per_byte(beside, both, both);
  return {profile.tasks.sums_us, std::max(moved, pushed),
          2 * (profile.stores.latency_us + profile.tasks.latency_us)};
}

// The stores belong to the GEMM's waves.
CollectiveModel model_stores(const Plan& plan, const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  const bool twice = plan.pattern == TILEPOST_GEMM_ALL_REDUCE, tasks = problem.task_parts > 0;
  if (tasks && twice) return model_pushed_sums(plan, problem);
  CollectiveModel group;
  group.latency = profile.stores.latency_us;
  if (tasks) {
    group.latency += profile.tasks.latency_us;
    group.per_byte = 1 / profile.tasks.bytes_per_us;
  } else {
    group.latency += wait_us(TILEPOST_WAIT_POLL) + (twice ? profile.copies.latency_us : 0);
    const double copied =
        twice ? spread_per_byte(problem, copy_per_byte(plan), store_per_byte(plan)) : 0;
    group.per_byte = with_sums(plan, moving(plan, TILEPOST_TRANSPORT_PEER, problem), copied);
  }
  hide(profile.copies, problem.comm.lanes, group);
  return group;
}

double wave_beside_pushes(const Plan& plan, const SharedProblem& problem) {
  return problem.wave * computed_beside_pushes(plan, problem) / problem.computed;
}

// A wave beside the stores of the one before, and whatever tasks do with those.
double wave_with_stores(const Plan& plan, const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  if (problem.task_parts == 0) return problem.wave * profile.stores.beside_stores;
  return plan.pattern == TILEPOST_GEMM_ALL_REDUCE ? wave_beside_pushes(plan, problem)
                                                  : problem.wave * profile.tasks.beside_tasks;
}

TransferModel model_after(const Plan& plan, tilepost_transport_t transport,
                          const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  TransferModel model{};
  if (transport == TILEPOST_TRANSPORT_COPY_ENGINE) {
    model.wave = problem.wave * profile.copies.beside_copies;
    model.group = model_copies(plan, problem);
  } else {
    const double wave_stores = problem.wave_bytes * store_per_byte(plan);
    model.wave = std::max(wave_with_stores(plan, problem), wave_stores);
    model.group = model_stores(plan, problem);
    model.group.tail += profile.stores.drain * wave_stores;
  }
  model.group.tail += profile.meet_us;
  return model;
}

TransferModel model_pushed_rows(const Plan& plan, const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  return {wave_beside_pushes(plan, problem),
          {profile.stores.latency_us + profile.tasks.latency_us + profile.tasks.rows_us,
           per_byte(plan, profile.tasks.rows_us_per_mib), 0},
          profile.meet_us};
}

// Copies follow each other on one stream, a rank's share after the other, and do not wait for what
// was there before to be seen: a byte of a group is one that a rank sends. The GEMM waits for the
// own rows only where no tasks copy them.
TransferModel model_copied_rows(const Plan& plan, const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  const CopyProfile& copies = profile.copies;
  const double rate = interpolate(copies.rows_us_per_mib, plan.ranks) / kMib;
  const double beside = computed_beside(copies.slow_us_per_mib, plan, problem) / problem.computed;
  return {problem.wave * beside,
          {copies.push_us, rate, copies.landed_us},
          profile.meet_us + (problem.task_parts == 0 ? profile.step_us : 0)};
}

// Where communication comes first, so does all that comes once.
TransferModel model_gathered(const Plan& plan, tilepost_transport_t transport,
                             const SharedProblem& problem) {
  return transport == TILEPOST_TRANSPORT_PEER ? model_pushed_rows(plan, problem)
                                              : model_copied_rows(plan, problem);
}

}  // namespace

TransferModel model_shared(const Plan& plan, tilepost_transport_t transport,
                           const SharedProblem& problem) {
  return plan.pattern == TILEPOST_ALL_GATHER_GEMM ? model_gathered(plan, transport, problem)
                                                  : model_after(plan, transport, problem);
}

}  // namespace tilepost
