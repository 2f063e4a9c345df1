// What ranks take that touch each other's memory: copy engines that read it, and kernels that store
// into it.
#include <algorithm>

#include "generator/plan/predict.h"

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
double moved_per_byte(const Plan& plan, Transport transport) {
  if (reduces(plan.pattern)) {
    const int written = plan.pattern == Pattern::gemm_all_reduce ? 2 : 1;
    // What has been added already is one part, which is read and cleared.
    const int parts = plan.sum == Sum::added ? 2 : plan.ranks;
    return static_cast<double>(parts + written) / plan.ranks;
  }
  return transport == Transport::peer ? 2 : 2.0 / plan.ranks;  // all that landed, or the own rows
}

// Moving, which runs on the SMs that the GEMM leaves free from the first group on, and on all of
// them when the GEMM has ended.
struct Moving {
  double per_byte;  // of a group, on the whole
  double left;      // the part of it that is done when the GEMM has ended
};

Moving moving(const Plan& plan, Transport transport, const SharedProblem& problem) {
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
  if (plan.pattern == Pattern::gemm_all_reduce)
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
  if (plan.pattern == Pattern::all_gather_gemm)
    return {copies.chunk_us, per_byte(plan, interpolate(copies.rows_us_per_mib, plan.ranks)), 0};
  const bool twice = plan.pattern == Pattern::gemm_all_reduce;
  CollectiveModel group;
  group.latency = copies.latency_us * (twice ? 2 : 1) + wait_us(plan.wait) - wait_us(Wait::poll);
  group.per_byte = with_sums(plan, moving(plan, Transport::copy_engine, problem),
                             copy_per_byte(plan) * (twice ? copies.both_ways : 1));
  hide(copies, problem.comm.lanes, group);
  return group;
}

// What all ranks get travels once more, a byte of a group in `spread`, and shares the links with
// the stores of what is computed meanwhile: fully where both together take longer than the GEMM.
double spread_per_byte(const Plan& plan, const SharedProblem& problem, double spread) {
  const double stored = store_per_byte(plan);
  const double busy = std::min(1.0, (spread + stored) * problem.bytes / problem.computed);
  return spread + busy * stored;
}

// Spare warps go on with one group while the links carry tiles and sums of others, so that no
// latency shows but those of the last: of its tiles and of its sums. They read what they add up,
// and what has landed.
CollectiveModel model_pushed_sums(const Plan& plan, const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  const double moved = (1 + sent_part(plan.ranks)) / profile.jobs.bytes_per_us;
  const double pushed = spread_per_byte(plan, problem, store_per_byte(plan));
  return {0, std::max(moved, pushed), 2 * (profile.stores.latency_us + profile.jobs.latency_us)};
}

// The stores belong to the GEMM's waves.
CollectiveModel model_stores(const Plan& plan, const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  const bool twice = plan.pattern == Pattern::gemm_all_reduce, jobs = problem.job_parts > 0;
  if (jobs && twice) return model_pushed_sums(plan, problem);
  CollectiveModel group;
  group.latency = profile.stores.latency_us;
  if (jobs) {
    group.latency += profile.jobs.latency_us;
    group.per_byte = 1 / profile.jobs.bytes_per_us;
  } else {
    group.latency += wait_us(Wait::poll) + (twice ? profile.copies.latency_us : 0);
    const double copied = twice ? spread_per_byte(plan, problem, copy_per_byte(plan)) : 0;
    group.per_byte = with_sums(plan, moving(plan, Transport::peer, problem), copied);
  }
  hide(profile.copies, problem.comm.lanes, group);
  return group;
}

TransferModel model_after(const Plan& plan, Transport transport, const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  TransferModel model{};
  if (transport == Transport::copy_engine) {
    model.wave = problem.wave * profile.copies.beside_copies;
    model.group = model_copies(plan, problem);
  } else {
    const double wave_stores = problem.wave_bytes * store_per_byte(plan);
    const double beside =
        problem.job_parts > 0 ? profile.jobs.beside_jobs : profile.stores.beside_stores;
    model.wave = std::max(problem.wave * beside, wave_stores);
    model.group = model_stores(plan, problem);
    model.group.tail += profile.stores.drain * wave_stores;
  }
  model.group.tail += profile.meet_us;
  return model;
}

// Rows of A that are pushed slow the GEMM down for as long as that takes.
TransferModel model_pushed_rows(const Plan& plan, const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  const double row_byte = per_byte(plan, profile.jobs.rows_us_per_mib);
  const double busy = std::min(1.0, row_byte * problem.bytes / problem.computed);
  return {problem.wave * (1 + (profile.jobs.beside_jobs - 1) * busy),
          {profile.stores.latency_us + profile.jobs.latency_us, row_byte, 0},
          profile.meet_us};
}

// Where communication comes first, so does all that comes once. The GEMM does not wait for what
// jobs announce, and chunks after the first do not either.
TransferModel model_gathered(const Plan& plan, Transport transport, const SharedProblem& problem) {
  if (transport == Transport::peer) return model_pushed_rows(plan, problem);
  const MachineProfile& profile = h200_nvlink_profile();
  TransferModel model{problem.wave * interpolate(profile.copies.beside_rows, plan.ranks),
                      model_copies(plan, problem), profile.meet_us};
  if (problem.job_parts == 0) model.announce += profile.copies.announce_us;
  return model;
}

}  // namespace

TransferModel model_shared(const Plan& plan, Transport transport, const SharedProblem& problem) {
  return plan.pattern == Pattern::all_gather_gemm ? model_gathered(plan, transport, problem)
                                                  : model_after(plan, transport, problem);
}

}  // namespace tilepost
