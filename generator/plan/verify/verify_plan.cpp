// The verifier: every invariant of a plan, checked from what the plan says and not with the code
// that made it. Linear in the tiles but for one sort per group.
#include <numeric>

#include "generator/plan/arch.h"
#include "generator/plan/make_plan.h"
#include "generator/plan/verify/verify_parts.h"
#include "llvm/Support/FormatVariadic.h"

namespace tilepost {
namespace {

using llvm::formatv;

// Sizes that everything below divides by or indexes with.
bool check_sizes(const Plan& plan, Findings& findings) {
  const tilepost_kernel_t& kernel = plan.kernel;
  if (plan.map.m < 1 || plan.map.n < 1 || plan.k < 1 || plan.map.tile_m < 1 ||
      plan.map.tile_n < 1 || plan.map.cluster < 1 || kernel.ctas_per_sm < 1 ||
      plan.map.signals_per_tile < 1 || plan.source.split_k < 1 ||
      plan.gemm_ctas < plan.source.split_k || plan.ranks < 1) {
    findings.add("a size is not positive");
    return false;
  }
  return true;
}

// The division follows from what is sent and when (docs/architecture.md).
tilepost_division_t division_for(const Plan& plan) {
  const bool overlaps = plan.transport != TILEPOST_TRANSPORT_NONE;
  switch (plan.pattern) {
    case TILEPOST_GEMM:
      return TILEPOST_DIVISION_ROWS;
    case TILEPOST_GEMM_ALL_REDUCE:
      // A share is summed by the rank that reads it, or that it is stored to.
      return plan.access == TILEPOST_ACCESS_MESSAGES ? TILEPOST_DIVISION_ROWS
                                                     : TILEPOST_DIVISION_SHARES;
    case TILEPOST_ALL_GATHER_GEMM:
      return overlaps ? TILEPOST_DIVISION_ARRIVALS : TILEPOST_DIVISION_ROWS;
    case TILEPOST_GEMM_REDUCE_SCATTER:
    case TILEPOST_GEMM_ALL_TO_ALL:
      break;
  }
  if (plan.map.layout == TILEPOST_TILE) return TILEPOST_DIVISION_COLUMNS;
  return overlaps && plan.routing != TILEPOST_ROUTING_ROWS ? TILEPOST_DIVISION_SHARES
                                                           : TILEPOST_DIVISION_ROWS;
}

// What all ranks get is pushed to them: rows of A wherever memory is shared, by copy engines or by
// tasks; sums where helper warps, which do not wait for copies, have summed parts that lie side by
// side. The host stands for all of them.
bool pushes_as_it_may(const Plan& plan) {
  const bool writes = plan.access == TILEPOST_ACCESS_WRITE;
  if (plan.pattern == TILEPOST_ALL_GATHER_GEMM)
    return plan.pushes == (plan.access != TILEPOST_ACCESS_MESSAGES) &&
           (!writes || plan.task_parts == 1 || plan.arch == Arch::host);
  if (!writes || plan.pattern != TILEPOST_GEMM_ALL_REDUCE) return !plan.pushes;
  const bool tasks = plan.task_parts > 0;
  return plan.pushes ? plan.sum == TILEPOST_SUM_STAGED && (tasks || plan.arch == Arch::host)
                     : !tasks;
}

// Who touches whose memory follows from the transport, and what the plan must be for it.
bool check_access(const Plan& plan, Findings& findings) {
  const bool shares = plan.access != TILEPOST_ACCESS_MESSAGES;
  const bool writes = plan.access == TILEPOST_ACCESS_WRITE;
  if (!pushes_as_it_may(plan)) {
    findings.add(formatv("access {0} and {1} task parts {2} pushes, {3}, sum {4}",
                         static_cast<int>(plan.access), plan.task_parts,
                         plan.pushes ? "with" : "without", name_of(plan.pattern),
                         name_of(plan.sum)));
    return false;
  }
  const bool sent_even =
      plan.pattern != TILEPOST_GEMM_ALL_TO_ALL || plan.routing == TILEPOST_ROUTING_EVEN;
  if (plan.access == access_of(plan.planned_transport) &&
      (!shares || plan.map.layout == TILEPOST_PANEL) && (!writes || sent_even) &&
      plan.map.stagger >= 0 &&
      (plan.map.stagger == 0 || plan.map.division == TILEPOST_DIVISION_SHARES))
    return true;
  findings.add(formatv("access {0} and stagger {1} for {2}, layout {3}, transport {4}, routing {5}",
                       static_cast<int>(plan.access), plan.map.stagger, name_of(plan.pattern),
                       name_of(plan.map.layout), name_of(plan.planned_transport),
                       name_of(plan.routing)));
  return false;
}

bool check_division(const Plan& plan, Findings& findings) {
  if (plan.map.division == division_for(plan)) return true;
  findings.add(formatv("division {0} for {1}, layout {2}, transport {3}, routing {4}",
                       static_cast<int>(plan.map.division), name_of(plan.pattern),
                       name_of(plan.map.layout), name_of(plan.planned_transport),
                       name_of(plan.routing)));
  return false;
}

// Every rank has a share where rows are divided among ranks. Shares arrive in turns where copies
// bring them, each of which is the faster the larger it is.
bool check_shares(const Plan& plan, Findings& findings) {
  const bool in_turns =
      plan.map.division == TILEPOST_DIVISION_ARRIVALS && plan.access == TILEPOST_ACCESS_READ;
  const int shares = Geometry(plan).shares;
  if (plan.map.ranks == shares && plan.map.round_robin == (in_turns ? 1 : 0)) return true;
  findings.add(formatv("a map of {0} shares {1}, the rows are {2} shares {3}", plan.map.ranks,
                       plan.map.round_robin != 0 ? "in turns" : "at once", shares,
                       in_turns ? "in turns" : "at once"));
  return false;
}

// The host target's threads stand for every transport.
void check_transport(const Plan& plan, Findings& findings) {
  const bool host = plan.arch == Arch::host && plan.transport != TILEPOST_TRANSPORT_NONE;
  if (plan.transport == (host ? TILEPOST_TRANSPORT_HOST : plan.planned_transport)) return;
  findings.add(formatv("transport {0} on {1} where {2} is planned",
                       static_cast<int>(plan.transport), name_of(plan.arch),
                       name_of(plan.planned_transport)));
}

// Where the group ends, in what its cut counts, and where the cut says. Arrivals: verify_gather.
struct CutEnd {
  int64_t is, said;
};
CutEnd end_of(const Plan& plan, size_t g) {
  const Geometry geometry(plan);
  const tilepost_group_t& group = plan.tile_map().groups[g];
  const int64_t cut = plan.cuts()[g], end = group.offset + group.count;
  switch (plan.map.division) {
    case TILEPOST_DIVISION_SHARES:
      return {end, cut * geometry.tile_m * geometry.shares * plan.map.n};
    case TILEPOST_DIVISION_COLUMNS:
      return {end, cut * (plan.tile_map().send_elements / geometry.tiles_n)};
    case TILEPOST_DIVISION_ARRIVALS:
      return {0, 0};
    case TILEPOST_DIVISION_ROWS:
      break;
  }
  if (plan.map.layout == TILEPOST_TILE) return {int64_t{group.first_tile} + group.num_tiles, cut};
  return {end, std::min(cut * geometry.tile_m, plan.map.m) * plan.map.n};
}

// The cuts say where the groups end, and the groups' waves are the schedule's.
void check_cuts(const Plan& plan, Findings& findings) {
  for (size_t g = 0; g < plan.cuts().size(); ++g) {
    const CutEnd end = end_of(plan, g);
    if (end.is != end.said)
      findings.add(
          formatv("group {0} ends at {1}, cut {2} means {3}", g, end.is, plan.cuts()[g], end.said));
  }
  const int64_t positions = static_cast<int64_t>(plan.tile_map().tiles.size());
  const int64_t waves = (positions + plan.at_once() - 1) / plan.at_once();
  if (plan.waves != waves)
    findings.add(formatv("{0} waves, {1} positions on {2} CTAs take {3}", plan.waves, positions,
                         plan.gemm_ctas, waves));
  const int64_t sum = std::accumulate(plan.group_waves.begin(), plan.group_waves.end(), int64_t{0});
  if (plan.group_waves.size() != plan.cuts().size() || sum != waves)
    findings.add(
        formatv("{0} groups of {1} waves in all, the schedule has {2} groups and {3} waves",
                plan.group_waves.size(), sum, plan.cuts().size(), waves));
}

void check_grid(const Plan& plan, Findings& findings) {
  if (plan.gemm_ctas % plan.map.cluster != 0)
    findings.add(
        formatv("a grid of {0} is no whole clusters of {1}", plan.gemm_ctas, plan.map.cluster));
  if (plan.kernel.cluster < 1 || plan.gemm_ctas % plan.kernel.cluster != 0)
    findings.add(formatv("a grid of {0} is no whole launched clusters of {1}", plan.gemm_ctas,
                         plan.kernel.cluster));
  if (plan.kernel.cluster % plan.source.split_k != 0)
    findings.add(formatv("the {0} CTAs of a tile are no part of a launched cluster of {1}",
                         plan.source.split_k, plan.kernel.cluster));
}

// NCCL's communicators have a CTA each at least; sums share theirs. Where the GEMM itself moves
// what landed, nothing runs beside it.
int least_comm_ctas(const Plan& plan) {
  if (plan.task_parts > 0 && plan.access == TILEPOST_ACCESS_WRITE) return 0;
  return plan.access == TILEPOST_ACCESS_MESSAGES ? plan.comm_lanes : 1;
}

// GEMM, collective and waiter run at the same time, so each needs SMs of its own: otherwise one of
// them could wait for ever for another that cannot start.
void check_budget(const Plan& plan, Findings& findings) {
  const int gemm_sms = (plan.gemm_ctas + plan.kernel.ctas_per_sm - 1) / plan.kernel.ctas_per_sm;
  if (plan.transport == TILEPOST_TRANSPORT_NONE) {
    if (plan.comm_ctas != 0 || plan.cuts().size() != 1)
      findings.add(
          formatv("no overlap, but {0} CTAs are kept for the collective and there are {1} "
                  "groups",
                  plan.comm_ctas, plan.cuts().size()));
    if (gemm_sms > plan.sms)
      findings.add(formatv("the GEMM needs {0} SMs of {1}", gemm_sms, plan.sms));
  } else if (plan.comm_lanes < 1 || plan.comm_ctas < least_comm_ctas(plan) ||
             int64_t{gemm_sms} + plan.comm_ctas + (plan.comm_ctas > 0 ? 1 : 0) > plan.sms) {
    findings.add(formatv("GEMM on {0} SMs, collective on {1} and the waiter on 1 do not fit on {2}",
                         gemm_sms, plan.comm_ctas, plan.sms));
  }
  // Whoever waits for a group counts on the groups before it.
  if (plan.map.division == TILEPOST_DIVISION_ARRIVALS && plan.comm_lanes != 1)
    findings.add(formatv("arrivals in {0} lanes do not come in order", plan.comm_lanes));
  if (plan.at_once() > static_cast<int64_t>(plan.tile_map().tiles.size()))
    findings.add(
        formatv("a grid of {0} for {1} positions", plan.gemm_ctas, plan.tile_map().tiles.size()));
  const ArchInfo& arch = arch_info(plan.arch);
  const tilepost_kernel_t& kernel = plan.kernel;
  if (kernel.shared_bytes > arch.shared_per_block)
    findings.add(formatv("{0} bytes of shared memory, a block of {1} has {2}", kernel.shared_bytes,
                         name_of(plan.arch), arch.shared_per_block));
  if (plan.arch == Arch::host) return;
  if ((kernel.shared_bytes + arch.shared_reserved) * kernel.ctas_per_sm > arch.shared_per_sm)
    findings.add(
        formatv("{0} CTAs of {1} bytes of shared memory do not fit on an SM of {2}, which "
                "has {3}",
                kernel.ctas_per_sm, kernel.shared_bytes, name_of(plan.arch), arch.shared_per_sm));
  if (kernel.threads * kernel.ctas_per_sm > arch.threads_per_sm)
    findings.add(formatv("{0} CTAs of {1} threads do not fit on an SM of {2}, which has {3}",
                         kernel.ctas_per_sm, kernel.threads, name_of(plan.arch),
                         arch.threads_per_sm));
}

// What no part above could say is right is not followed.
void check_exchange(const Plan& plan, Findings& findings) {
  if (!findings.empty() || !communicates(plan.pattern) || !can_follow(plan)) return;
  TrafficMemory memory;
  const Traffic traffic = traffic_of(plan, memory);
  if (plan.pattern == TILEPOST_ALL_GATHER_GEMM)
    verify_gather(plan, traffic, findings);
  else
    verify_steps(plan, traffic, findings);
}

}  // namespace

std::vector<std::string> verify_plan(const Plan& plan) {
  Findings findings;
  if (!check_sizes(plan, findings) || !check_division(plan, findings) ||
      !check_access(plan, findings) || !check_shares(plan, findings))
    return findings.take();
  check_transport(plan, findings);
  if (verify_tiles(plan, plan.tile_map(), findings)) {
    verify_blocks(plan, plan.tile_map(), findings);
    verify_orders(plan, findings);
    check_cuts(plan, findings);
    check_exchange(plan, findings);
  }
  verify_operands(plan, findings);
  check_grid(plan, findings);
  check_budget(plan, findings);
  if (hash_tile_map(plan.tile_map()) != plan.map_hash)
    findings.add(formatv("the tile table hashes to {0:x}, the plan says {1:x}",
                         hash_tile_map(plan.tile_map()), plan.map_hash));
  return findings.take();
}

}  // namespace tilepost
