// transport: host_copies. Copy engines carry messages through pinned host memory, for GPUs that do
// not reach each other's memory. Only sums and waits take SMs.
#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/transports/models.h"
#include "generator/plan/transports/objects.h"
#include "generator/spec/text.h"
#include "runtime/map/host_rings.h"

namespace tilepost {
namespace {

class HostCopies final : public Transport {
 public:
  HostCopies()
      : Transport({.value = TILEPOST_TRANSPORT_HOST_COPIES,
                   .overlaps = true,
                   .windows = false,
                   .needs = "needs ranks of one host and pinned host memory: create fails with the "
                            "reason where there is none, then use transport: nccl"}) {}

  void check(const Spec& spec, Diagnostics& diagnostics) const override;
  bool may_try(const Spec&, const Plan& plan, const MachineProfile& profile) const override;
  bool lanes_take_ctas() const override { return false; }
  std::vector<CommChoice> choices(const Plan& plan, const MachineProfile& profile,
                                  int task_parts) const override;
  TransferModel model(const TransferProblem& problem) const override;
  std::vector<std::string> describe(const Plan& plan) const override;
};

void HostCopies::check(const Spec& spec, Diagnostics& diagnostics) const {
  if (spec.ranks.value <= kMostOnOneHost) return;
  diagnostics.error(spec.ranks.where,
                    fmt::format("{} carries messages through the memory of one host, which has at "
                                "most {} ranks; got {}; use transport 'nccl'",
                                quoted_transport(spec), kMostOnOneHost, spec.ranks.value));
  note_transport(spec, diagnostics);
}

// Where GPUs reach each other's memory, every way there is faster than the way through the host.
bool HostCopies::may_try(const Spec&, const Plan& plan, const MachineProfile& profile) const {
  return plan.arch != Arch::host && !profile.peers.peer_access &&
         profile.peers.host_copies.available && plan.ranks > 1 && plan.ranks <= kMostOnOneHost;
}

// Where a group is followed by something on this rank, two lanes let the copies of the next group
// begin meanwhile. Plans with messages have a CTA for each lane.
std::vector<CommChoice> HostCopies::choices(const Plan& plan, const MachineProfile& profile,
                                            int /*task_parts*/) const {
  const bool joins = host_groups_join(row_of(plan), plan.consumer);
  const int lanes = joins ? 2 : 1;
  std::vector<CommChoice> choices = {{lanes, lanes}};
  if (joins) choices.push_back({1, 1});
  if (!row_of(plan).sums) return choices;
  for (const int ctas : profile.peers.sum_ctas) choices.push_back({ctas, lanes});
  return choices;
}

// Every rank sends all that leaves it to host memory, and reads as much from there. An AllReduce
// sends parts and then sums, one behind the other where no more groups come.
TransferModel HostCopies::model(const TransferProblem& problem) const {
  const MachineProfile& profile = problem.profile;
  const HostCopyProfile& copies = profile.peers.host_copies;
  const PatternRow& pattern = row_of(problem.plan);
  TransferModel model;
  model.wave = problem.wave * copies.beside_copies;
  if (problem.plan.ranks == 1) return model;
  const int ways = pattern.product_spreads() ? 2 : 1;
  const double alone = ways * (ways > 1 ? copies.both_ways : 1) *
                       per_byte(problem, interpolate(copies.us_per_mib, problem.plan.ranks));
  const double transfers =
      pattern.moves_input() ? alone : partly_beside(problem, alone, copies.beside_gemm);
  model.group.per_byte = pattern.sums ? with_sums(problem, 0, transfers) : transfers;
  model.group.latency = ways * copies.latency_us;
  model.group.tail = ways * copies.chunk_us;
  if (pattern.moves_input()) {
    model.group.latency = profile.collectives.step_us;  // own rows wait for no tiles
    model.group.tail += copies.latency_us + profile.collectives.issue_us;
    return model;
  }
  model.group.latency += profile.collectives.wait_of(problem.plan.wait) -
                         profile.collectives.wait_of(TILEPOST_WAIT_POLL);
  if (problem.comm.lanes == 1 && host_groups_join(pattern, problem.plan.consumer)) return model;
  // A group's copies follow those of the group before. What is left of its latency are the waits
  // and the writes of its chunks, of which it has at least two.
  constexpr double kShown = 0.5;
  const double shown = model.group.latency * kShown;
  model.group.tail += model.group.latency - shown;
  model.group.latency = shown;
  return model;
}

std::vector<std::string> HostCopies::describe(const Plan& plan) const {
  const PatternRow& pattern = row_of(plan);
  std::vector<std::string> lines = {
      fmt::format("copy engines carry {} through host memory, in chunks of at most {} MiB",
                  pattern.moves_input() ? "rows of A"
                  : pattern.sums        ? "the parts of sums"
                                        : "rows",
                  kHostChunkBytes >> 20)};
  if (!pattern.sums) return lines;
  lines.push_back("a kernel sums the parts in the order of ranks");
  if (pattern.product_spreads()) lines.push_back("copy engines carry the sums to the other ranks");
  return lines;
}

}  // namespace

const Transport& host_copies_transport() {
  static const HostCopies transport;
  return transport;
}

}  // namespace tilepost
