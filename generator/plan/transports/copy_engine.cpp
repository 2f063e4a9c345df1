// transport: copy_engine. Copy engines read the other ranks' memory. Rows of A are the exception:
// copy engines write them into the other ranks' memory.
#include "generator/plan/machine/profile.h"
#include "generator/plan/transports/models.h"
#include "generator/plan/transports/objects.h"

namespace tilepost {
namespace {

class CopyEngine final : public Transport {
 public:
  CopyEngine()
      : Transport({.value = TILEPOST_TRANSPORT_COPY_ENGINE,
                   .overlaps = true,
                   .windows = false,
                   .needs = "needs peer access between all ranks: create fails with the reason "
                            "where there is none, then use transport: nccl"}) {}

  void check(const Spec& spec, Diagnostics& diagnostics) const override {
    check_partners(spec, row.value, diagnostics);
    check_whole_rows(spec, diagnostics);
  }
  bool may_try(const Spec&, const Plan& plan, const MachineProfile& profile) const override {
    return may_share(plan, profile);
  }
  // Copy engines push almost twice as fast as they pull.
  bool pushes(const Plan& plan) const override { return row_of(plan).moves_input(); }
  std::vector<CommChoice> choices(const Plan& plan, const MachineProfile& profile,
                                  int task_parts) const override {
    if (task_parts > 0) return {{1, 1}};  // for announcements to the ranks that copy
    return choices_for_sums(plan, profile);
  }
  // Whether the kernel reads tiles that have only own rows in the caller's memory. Tiles that also
  // have rows of other ranks are read where all rows arrive. Without tasks, copies bring the own
  // rows of such tiles there (edges_of). Where rows come by routes there would be more to bring.
  bool reads_own(const KernelConfig& config, const Plan& plan, int task_parts) const override {
    if (!row_of(plan).moves_input()) return false;
    const bool waits = plan.arch != Arch::host && plan.neighbours == 0;
    return task_parts > 0 ||
           (waits && config.family->loads_from_two_places() && !row_of(plan).input_is_routed());
  }
  TransferModel model(const TransferProblem& problem) const override {
    return row_of(problem.plan).moves_input() ? model_pushes(problem) : model_pulls(problem);
  }
  std::vector<std::string> describe(const Plan& plan) const override;

 private:
  // Helper warps move this rank's own rows of A to where all rows arrive.
  int tasks_beside(const Plan& plan) const override { return row_of(plan).moves_input() ? 1 : 0; }

  static TransferModel model_pushes(const TransferProblem& problem);
  static TransferModel model_pulls(const TransferProblem& problem);
};

// Copies follow each other on one stream, one rank's share after the other, and do not wait until
// what was copied before is seen. A byte of a group is therefore a byte that a rank sends. With
// tasks, or with a copy of the own rows, the run begins before the GEMM. Otherwise it begins beside
// the GEMM, and all rows come later by that time.
TransferModel CopyEngine::model_pushes(const TransferProblem& problem) {
  const MachineProfile& profile = problem.profile;
  const CopyProfile& copies = profile.peers.copies;
  const double beside = computed_beside(problem, copies.slow_us_per_mib) / problem.computed;
  TransferModel model;
  model.wave = problem.wave * beside;
  model.group = {copies.push_us, interpolate(copies.rows_us_per_mib, problem.plan.ranks) / kMib,
                 copies.landed_us + profile.collectives.issue_us};
  const bool begins_beside = problem.reads_own && problem.task_parts == 0;
  if (begins_beside) model.group.tail += profile.peers.meet_us;
  if (!begins_beside)
    model.announce = profile.peers.meet_us + (problem.reads_own ? 0 : profile.collectives.step_us);
  return model;
}

TransferModel CopyEngine::model_pulls(const TransferProblem& problem) {
  const MachineProfile& profile = problem.profile;
  const CopyProfile& copies = profile.peers.copies;
  const bool twice = row_of(problem.plan).product_spreads();
  TransferModel model;
  model.wave = problem.wave * copies.beside_copies;
  model.group.latency = copies.latency_us * (twice ? 2 : 1) +
                        profile.collectives.wait_of(problem.plan.wait) -
                        profile.collectives.wait_of(TILEPOST_WAIT_POLL);
  const double own_rows = 2.0 / problem.plan.ranks;  // read and written
  model.group.per_byte =
      with_sums(problem, own_rows, copy_per_byte(problem) * (twice ? copies.both_ways : 1));
  hide_latency(problem, model.group);
  model.group.tail += profile.peers.meet_us;
  return model;
}

std::vector<std::string> CopyEngine::describe(const Plan& plan) const {
  if (row_of(plan).moves_input())
    return {"copy engines store this rank's rows of A into the other ranks' memory"};
  if (!row_of(plan).sums) return {"copy engines bring the rows for this rank"};
  std::vector<std::string> lines = {
      "copy engines bring the other ranks' parts of this rank's rows, a kernel sums them in the "
      "order of ranks"};
  if (row_of(plan).product_spreads())
    lines.push_back("copy engines bring what the other ranks have summed");
  return lines;
}

}  // namespace

const Transport& copy_engine_transport() {
  static const CopyEngine transport;
  return transport;
}

}  // namespace tilepost
