// What transports have in common whose ranks touch each other's memory.
#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/transports/models.h"
#include "generator/spec/text.h"

namespace tilepost {
namespace {

// Waves of the first group. Before they have ended there is nothing to move.
constexpr int kFirstWaves = 1;

// The fewest GPUs that share memory. The runtime for GPUs refuses plans of fewer.
constexpr int kFewestSharing = 2;

// Bytes that are moved within a rank's memory for one byte of a group. Parts are read and their sum
// is written, twice where other ranks read it. Rows that are only passed on are read and written.
double moved_per_byte(const Plan& plan, double passed_on) {
  if (!row_of(plan).sums) return passed_on;
  const int written = row_of(plan).product_spreads() ? 2 : 1;
  // Parts that were added as they arrived are a single part, which is read and cleared.
  const int parts = plan.sum == TILEPOST_SUM_ADDED ? 2 : plan.ranks;
  return static_cast<double>(parts + written) / plan.ranks;
}

// How long it takes to move groups within a rank's memory. The moves run on the SMs that the GEMM
// leaves free from the first group on, and on all SMs when the GEMM has ended.
struct Moving {
  double per_byte;  // us for a byte of a group, on the whole
  double left;      // the part of all bytes that is still to be moved when the GEMM has ended
};

Moving moving(const TransferProblem& problem, double passed_on) {
  const SumProfile& sums = problem.profile.peers.sums;
  const double all = moved_per_byte(problem.plan, passed_on) * problem.bytes;
  const double beside = (problem.comm.ctas + 1) * sums.sm_bytes_per_us;
  const double meanwhile = problem.computed - kFirstWaves * problem.wave;
  const double left = std::max(0.0, all - beside * meanwhile);
  const double us = std::min(all / beside, meanwhile + left / sums.memory_bytes_per_us);
  return {us / problem.bytes, left / all};
}

}  // namespace

bool may_share(const Plan& plan, const MachineProfile& profile) {
  return profile.peers.peer_access && plan.arch == profile.arch &&
         plan.map.layout == TILEPOST_PANEL && plan.ranks > 1 && plan.ranks <= kMostOnOneHost;
}

std::string quoted_transport(const Spec& spec) {
  return "transport " + quote(name_of(*spec.transport.value));
}

void note_transport(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.transport.value) diagnostics.note(spec.transport.where, "transport is given here");
}

void check_whole_rows(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.schedule.layout.value == TILEPOST_TILE) {
    diagnostics.error(spec.schedule.layout.where,
                      quoted_transport(spec) +
                          " moves whole rows between ranks, and schedule.layout 'tile' has none; "
                          "use layout 'panel' or transport 'nccl'");
    return note_transport(spec, diagnostics);
  }
  if (spec.consumer.value != TILEPOST_CONSUMER_UNPERMUTE) return;
  diagnostics.error(spec.consumer.where, "consumer 'unpermute' makes tiles row-major; " +
                                             quoted_transport(spec) +
                                             " moves whole rows, so consumer must be 'none'");
  note_transport(spec, diagnostics);
}

void check_partners(const Spec& spec, tilepost_transport_t transport, Diagnostics& diagnostics) {
  const bool on_host = spec.archs.value == std::vector{Arch::host};
  if (on_host || spec.ranks.value >= kFewestSharing) return;
  diagnostics.error(
      spec.ranks.where,
      fmt::format("ranks is '{0}', transport '{1}' is for {2} or more GPUs that reach each other's "
                  "memory; use 'auto' or 'none'",
                  spec.ranks.value, name_of(transport), kFewestSharing));
  note_transport(spec, diagnostics);
}

void check_tma(const Spec& spec, Diagnostics& diagnostics) {
  for (const Arch arch : spec.archs.value) {
    if (arch == Arch::sm_90a || arch == Arch::host) continue;
    diagnostics.error(spec.transport.where,
                      quoted_transport(spec) + " stores with TMA, which sm_90a has and " +
                          name_of(arch) + " has not; use copy_engine or nccl");
    diagnostics.note(spec.archs.where, "arch is given here");
  }
}

std::vector<CommChoice> choices_for_sums(const Plan& plan, const MachineProfile& profile) {
  std::vector<CommChoice> choices;
  for (const int ctas : row_of(plan).sums ? profile.peers.sum_ctas : std::vector<int>{1})
    for (const int lanes : profile.peers.lanes) choices.push_back({ctas, lanes});
  return choices;
}

double sent_part(int ranks) {
  return (ranks - 1.0) / ranks;
}

double per_byte(const TransferProblem& problem, double us_per_mib) {
  return us_per_mib * sent_part(problem.plan.ranks) / kMib;
}

double copy_per_byte(const TransferProblem& problem) {
  return per_byte(problem,
                  interpolate(problem.profile.peers.copies.us_per_mib, problem.plan.ranks));
}

// Where every rank gets the sums, the sums that are left when the GEMM has ended are copied only
// after that. Otherwise only a part of the time of the sums shows (SumProfile::unawaited).
double with_sums(const TransferProblem& problem, double passed_on, double transfers) {
  const Moving moved = moving(problem, passed_on);
  if (row_of(problem.plan).product_spreads())
    return std::max(moved.per_byte + moved.left * copy_per_byte(problem), transfers);
  const double shown = row_of(problem.plan).sums ? problem.profile.peers.sums.unawaited : 1;
  return std::max(shown * moved.per_byte, transfers);
}

double partly_beside(const TransferProblem& problem, double alone, double slower) {
  const double meanwhile = std::max(0.0, problem.computed - kFirstWaves * problem.wave);
  const double beside = std::min(alone * problem.bytes, meanwhile / slower);
  return alone + beside * (slower - 1) / problem.bytes;
}

void hide_latency(const TransferProblem& problem, CollectiveModel& group) {
  const int lanes = problem.comm.lanes;
  if (lanes == 1) return;
  const double shown = group.latency * problem.profile.peers.copies.lane_latency / lanes;
  group.tail += group.latency - shown;
  group.latency = shown;
}

double computed_beside(const TransferProblem& problem,
                       const std::vector<ProfilePoint>& us_per_mib) {
  const double slowed = per_byte(problem, interpolate(us_per_mib, problem.plan.ranks));
  return problem.computed + slowed * problem.bytes;
}

}  // namespace tilepost
