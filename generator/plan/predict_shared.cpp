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

// Copying a byte of a group to where it belongs, every rank at once.
double copy_per_byte(const Plan& plan) {
  const CopyProfile& copies = h200_nvlink_profile().copies;
  return interpolate(copies.us_per_mib, plan.ranks) * sent_part(plan.ranks) / kMib;
}

double store_per_byte(const Plan& plan) {
  const StoreProfile& stores = h200_nvlink_profile().stores;
  return interpolate(stores.us_per_mib, plan.ranks) * sent_part(plan.ranks) / kMib;
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
  if (plan.pattern == Pattern::all_gather_gemm) return {copies.chunk_us, copy_per_byte(plan), 0};
  const bool twice = plan.pattern == Pattern::gemm_all_reduce;
  CollectiveModel group;
  group.latency = copies.latency_us * (twice ? 2 : 1) + wait_us(plan.wait) - wait_us(Wait::poll);
  group.per_byte = with_sums(plan, moving(plan, Transport::copy_engine, problem),
                             copy_per_byte(plan) * (twice ? copies.both_ways : 1));
  hide(copies, problem.comm.lanes, group);
  return group;
}

// The stores belong to the GEMM's waves. Where all ranks get the sums, the copies share the links
// with the stores of what is computed meanwhile: fully where both together take longer than the
// GEMM.
CollectiveModel model_stores(const Plan& plan, const SharedProblem& problem, double wave_stores) {
  const MachineProfile& profile = h200_nvlink_profile();
  CollectiveModel group;
  group.latency = profile.stores.latency_us +
                  (problem.job_parts > 0 ? profile.jobs.latency_us : wait_us(Wait::poll));
  group.tail = profile.stores.drain * wave_stores;
  double transfers = 0;
  if (plan.pattern == Pattern::gemm_all_reduce) {
    group.latency += profile.copies.latency_us;
    const double links = (copy_per_byte(plan) + store_per_byte(plan)) * problem.bytes;
    const double busy = std::min(1.0, links / problem.computed);
    transfers = copy_per_byte(plan) + busy * store_per_byte(plan);
  }
  if (problem.job_parts > 0) {
    group.per_byte = std::max(1 / profile.jobs.bytes_per_us, transfers);
  } else {
    group.per_byte = with_sums(plan, moving(plan, Transport::peer, problem), transfers);
  }
  hide(profile.copies, problem.comm.lanes, group);
  return group;
}

}  // namespace

TransferModel model_shared(const Plan& plan, Transport transport, const SharedProblem& problem) {
  const MachineProfile& profile = h200_nvlink_profile();
  TransferModel model{};
  if (transport == Transport::copy_engine) {
    const bool gathers = plan.pattern == Pattern::all_gather_gemm;
    model.wave = problem.wave * (gathers ? 1 : profile.copies.beside_copies);
    model.group = model_copies(plan, problem);
  } else {
    const double wave_stores = problem.wave_bytes * store_per_byte(plan);
    const double beside =
        problem.job_parts > 0 ? profile.jobs.beside_jobs : profile.stores.beside_stores;
    model.wave = std::max(problem.wave * beside, wave_stores);
    model.group = model_stores(plan, problem, wave_stores);
  }
  // Where communication comes first, so does all that comes once. The GEMM does not wait for what
  // jobs announce.
  if (plan.pattern != Pattern::all_gather_gemm) {
    model.group.tail += profile.meet_us;
    return model;
  }
  model.announce = profile.meet_us;
  (problem.job_parts > 0 ? model.group.latency : model.announce) += profile.copies.announce_us;
  return model;
}

}  // namespace tilepost
