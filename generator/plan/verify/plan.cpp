// The verifier: checks every invariant of a plan from what the plan says, without the code that
// made it. It takes time linear in the tiles, apart from one sort per group.
#include <fmt/format.h>

#include <iterator>
#include <numeric>

#include "generator/plan/arch.h"
#include "generator/plan/verify/traffic.h"
#include "generator/plan/verify/verify_plan.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/quantised.h"
#include "tilepost/dtype.h"
#include "tilepost/internal/expert_tiles.h"
#include "tilepost/internal/task_chunks.h"

namespace tilepost {
namespace {

// Sizes that everything below divides by or indexes with.
bool check_sizes(const Plan& plan, Findings& findings) {
  const tilepost_kernel_t& kernel = plan.kernel;
  if (plan.map.m < 1 || plan.map.n < 1 || plan.k < 1 || plan.map.tile_m < 1 ||
      plan.map.tile_n < 1 || plan.map.cluster < 1 || kernel.ctas_per_sm < 1 ||
      plan.map.signals_per_tile < 1 || plan.source.split_k < 1 || plan.source.across < 1 ||
      plan.at_once() < 1 || plan.ranks < 1) {
    findings.add("a size is not positive");
    return false;
  }
  return true;
}

// Where rows of A are routed, a rank multiplies other rows than it has. With even shares it gets
// the same number from every rank. With a route, the most that it may receive is any number up to
// all rows of all ranks.
bool check_rows(const Plan& plan, Findings& findings) {
  const int64_t sent = plan.rows_sent;
  const int64_t share = (sent + plan.ranks - 1) / plan.ranks;
  const bool right = !row_of(plan).input_is_routed() ? sent == 0
                     : is_routed(plan)               ? sent > 0 && plan.map.m <= plan.ranks * sent
                                                     : sent > 0 && plan.map.m == plan.ranks * share;
  if (!right)
    findings.add(fmt::format("{0} rows on each of {1} ranks, of which one multiplies {2}, {3}",
                             sent, plan.ranks, plan.map.m, name_of(plan.pattern)));
  return right;
}

// Checks that the access follows from the transport, and that the rest of the plan suits the
// access.
bool check_access(const Plan& plan, Findings& findings) {
  const bool shares = plan.access != TILEPOST_ACCESS_MESSAGES;
  const bool writes = plan.access == TILEPOST_ACCESS_WRITE;
  if (!check_of(plan).pushes_as_it_may(plan)) {
    findings.add(fmt::format("access {0} and {1} task parts {2} pushes, {3}, sum {4}",
                             static_cast<int>(plan.access), plan.task_parts,
                             plan.pushes ? "with" : "without", name_of(plan.pattern),
                             name_of(plan.sum)));
    return false;
  }
  if (plan.access == access_of(plan.planned_transport) &&
      (!shares || plan.map.layout == TILEPOST_PANEL) && (!writes || !is_routed(plan)) &&
      plan.map.stagger >= 0 &&
      (plan.map.stagger == 0 || plan.map.division == TILEPOST_DIVISION_SHARES))
    return true;
  findings.add(fmt::format(
      "access {0} and stagger {1} for {2}, layout {3}, transport {4}, routing {5}",
      static_cast<int>(plan.access), plan.map.stagger, name_of(plan.pattern),
      name_of(plan.map.layout), name_of(plan.planned_transport), name_of(plan.routing)));
  return false;
}

bool check_division(const Plan& plan, Findings& findings) {
  if (plan.map.division == check_of(plan).division(plan)) return true;
  findings.add(fmt::format("division {0} for {1}, layout {2}, transport {3}, routing {4}",
                           static_cast<int>(plan.map.division), name_of(plan.pattern),
                           name_of(plan.map.layout), name_of(plan.planned_transport),
                           name_of(plan.routing)));
  return false;
}

// Every rank has a share where rows are divided among ranks. Shares arrive in turns where copies
// bring them, because large copies are faster.
bool check_shares(const Plan& plan, Findings& findings) {
  const bool in_turns =
      plan.map.division == TILEPOST_DIVISION_ARRIVALS && plan.access == TILEPOST_ACCESS_READ;
  const int shares = Geometry(plan).shares;
  if (plan.map.ranks == shares && plan.map.round_robin == (in_turns ? 1 : 0)) return true;
  findings.add(fmt::format("a map of {0} shares {1}, the rows are {2} shares {3}", plan.map.ranks,
                           plan.map.round_robin != 0 ? "in turns" : "at once", shares,
                           in_turns ? "in turns" : "at once"));
  return false;
}

// The host target's threads stand for every transport.
void check_transport(const Plan& plan, Findings& findings) {
  if (plan.planned_transport == TILEPOST_TRANSPORT_NCCL_SYMMETRIC &&
      !fits_windows(row_of(plan), is_routed(plan)))
    findings.add("routed rows are sent or received in windows, which do not hold them");
  const bool host = plan.arch == Arch::host && plan.transport != TILEPOST_TRANSPORT_NONE;
  if (plan.transport == (host ? TILEPOST_TRANSPORT_HOST : plan.planned_transport)) return;
  findings.add(fmt::format("transport {0} on {1} where {2} is planned",
                           static_cast<int>(plan.transport), name_of(plan.arch),
                           name_of(plan.planned_transport)));
}

// Beside neighbours a GEMM must not wait for other ranks. It has no helper warps that would wait
// for their tiles or rows, it does not exchange tiles, and it is launched for a group of arrivals
// only when something else has brought the group.
void check_neighbours(const Plan& plan, Findings& findings) {
  const bool pushed = plan.map.division == TILEPOST_DIVISION_ARRIVALS &&
                      plan.planned_transport == TILEPOST_TRANSPORT_PEER;
  const bool meets = plan.access == TILEPOST_ACCESS_TILES;
  const bool waits = plan.task_parts > 0 || plan.reads_own != 0;
  if (plan.neighbours != 0 && (pushed || meets || waits))
    findings.add(
        fmt::format("a GEMM with {0} task parts and transport {1} waits for other ranks, "
                    "which neighbours forbid",
                    plan.task_parts, name_of(plan.planned_transport)));
}

// A kernel that reads its own rows of A where the caller has them needs two tensor maps of A.
// Kernels whose helper warps move rows of A always do so, and so do kernels of tokens that another
// kernel pushes: nothing brings own rows to where others' arrive. Otherwise copies on one stream
// bring the own rows of tiles that have rows of two ranks. These copies are not possible with
// routed rows, which may have such tiles anywhere.
void check_own_rows(const Plan& plan, Findings& findings) {
  const RunPath path = paths_of(plan).planned;
  const bool arrives = path.waits == Waits::tiles;
  const bool host = plan.kernel.launch == TILEPOST_LAUNCH_HOST;  // which has all rows in one place
  const bool tasks = path.has_tasks && row_of(plan).moves_input() && !host;
  const bool copies =
      plan.access == TILEPOST_ACCESS_READ && arrives && !row_of(plan).input_is_routed();
  const bool pushed = path.pushes_tokens && !host;
  const bool may = (tasks || copies || pushed) && plan.kernel.launch == TILEPOST_LAUNCH_TMA;
  if (plan.reads_own != 0 ? may : !tasks && !pushed) return;
  findings.add(fmt::format(
      "a kernel with {0} task parts, launched by {1}, access {2}, {3}, reads "
      "its own rows of A {4}",
      plan.task_parts, static_cast<int>(plan.kernel.launch), static_cast<int>(plan.access),
      name_of(plan.pattern), plan.reads_own != 0 ? "in the caller's memory" : "where all arrive"));
}

// A kernel that is a whole run must do all that is to be done with what other ranks store, know an
// address of each rank, and be launched into the end of the kernel before it. Its source (EARLY)
// says that it also lets the next kernel start like this. For kernels that exchange tiles see
// peer_tiles.cpp.
void check_meeting(const Plan& plan, Findings& findings) {
  if (plan.access == TILEPOST_ACCESS_TILES) return;
  const auto early = plan.source.tunables.find("EARLY");
  const bool lets_next = early != plan.source.tunables.end() && early->second == "1";
  const bool may = plan.access == TILEPOST_ACCESS_WRITE && moves_inside(plan) &&
                   plan.ranks <= TILEPOST_MOST_EXCHANGING && plan.comm_ctas == 0 &&
                   plan.kernel.early != 0 && lets_next;
  if (plan.whole_run != 0 && !may)
    findings.add(
        fmt::format("a kernel of {0} ranks, access {1}, {2} task parts, {3} CTAs beside "
                    "it, launched {4} and letting the next come {5}, is no whole run",
                    plan.ranks, static_cast<int>(plan.access), plan.task_parts, plan.comm_ctas,
                    plan.kernel.early != 0 ? "early" : "late", lets_next ? "early" : "late"));
  if (plan.whole_run == 0 && lets_next)
    findings.add("the next kernel may come early, and would take the SMs of what follows this one");
}

// Only tasks know of gaps between the rows that other ranks store, and leave them out.
void check_row_gap(const Plan& plan, Findings& findings) {
  const bool tasks = plan.access == TILEPOST_ACCESS_WRITE && moves_inside(plan) &&
                     !row_of(plan).moves_input() && plan.kernel.launch == TILEPOST_LAUNCH_TMA;
  const int64_t bytes = plan.row_gap * element_bytes(plan.output);
  if (plan.row_gap == 0 || (tasks && plan.row_gap > 0 && bytes % kTaskUnit == 0)) return;
  findings.add(
      fmt::format("{0} elements follow each row that ranks store with access {1}, {2} task "
                  "parts and a kernel launched by {3}",
                  plan.row_gap, static_cast<int>(plan.access), plan.task_parts,
                  static_cast<int>(plan.kernel.launch)));
}

// Waves of all launches of the GEMM. Beside neighbours each group of arrivals has a launch, with a
// last wave of its own; otherwise there is one launch in all.
int64_t waves_of(const Plan& plan) {
  const auto waves = [&](size_t positions) {
    return (static_cast<int64_t>(positions) + plan.at_once() - 1) / plan.at_once();
  };
  if (plan.neighbours == 0 || plan.map.division != TILEPOST_DIVISION_ARRIVALS)
    return waves(plan.tile_map().tiles.size());
  int64_t sum = 0;
  for (const tilepost_group_t& group : plan.tile_map().groups) sum += waves(group.num_tiles);
  return sum;
}

// Where a group ends, and where its cut says that it ends, both in elements or, where tiles lie in
// slot order, in positions. For arrivals see arrivals.cpp.
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

// Checks that groups end where the cuts say, and that the groups' waves are the schedule's.
void check_cuts(const Plan& plan, Findings& findings) {
  for (size_t g = 0; g < plan.cuts().size(); ++g) {
    const CutEnd end = end_of(plan, g);
    if (end.is != end.said)
      findings.add(fmt::format("group {0} ends at {1}, cut {2} means {3}", g, end.is,
                               plan.cuts()[g], end.said));
  }
  const int64_t waves = waves_of(plan);
  if (plan.waves != waves)
    findings.add(fmt::format("{0} waves, {1} positions on {2} CTAs take {3}", plan.waves,
                             plan.tile_map().tiles.size(), plan.gemm_ctas, waves));
  const int64_t sum = std::accumulate(plan.group_waves.begin(), plan.group_waves.end(), int64_t{0});
  if (plan.group_waves.size() != plan.cuts().size() || sum != waves)
    findings.add(
        fmt::format("{0} groups of {1} waves in all, the schedule has {2} groups and {3} waves",
                    plan.group_waves.size(), sum, plan.cuts().size(), waves));
}

void check_grid(const Plan& plan, Findings& findings) {
  if (plan.gemm_ctas % plan.map.cluster != 0)
    findings.add(
        fmt::format("a grid of {0} is no whole clusters of {1}", plan.gemm_ctas, plan.map.cluster));
  if (plan.kernel.cluster < 1 || plan.gemm_ctas % plan.kernel.cluster != 0)
    findings.add(fmt::format("a grid of {0} is no whole launched clusters of {1}", plan.gemm_ctas,
                             plan.kernel.cluster));
  const int of_tile = plan.source.ctas_of_tile();
  if (plan.kernel.cluster % of_tile != 0)
    findings.add(fmt::format("the {0} CTAs of a tile are no part of a launched cluster of {1}",
                             of_tile, plan.kernel.cluster));
}

// Each communicator of NCCL has at least one CTA; lanes of sums share theirs. Where the GEMM itself
// moves what landed, nothing runs beside it.
int least_comm_ctas(const Plan& plan) {
  if (plan.access == TILEPOST_ACCESS_TILES) return 0;
  if (paths_of(plan).planned.kernel_does_all && plan.access == TILEPOST_ACCESS_WRITE) return 0;
  return plan.access == TILEPOST_ACCESS_MESSAGES ? plan.comm_lanes : 1;
}

// The most positions of a run. Rows of experts may have more tiles than as many rows of one expert:
// a tile of few rows for each expert.
int64_t most_positions(const Plan& plan) {
  const auto positions = static_cast<int64_t>(plan.tile_map().tiles.size());
  const int64_t columns = (plan.map.n + plan.map.tile_n - 1) / plan.map.tile_n;
  if (row_of(plan).has_tokens())
    return most_tile_rows(plan.most_rows, plan.experts, plan.map.tile_m) * columns;
  return row_of(plan).has_experts() ? positions + plan.experts * columns : positions;
}

// GEMM, collective and waiter run at the same time, so each needs SMs of its own: otherwise one of
// them could wait for ever for another that cannot start.
void check_budget(const Plan& plan, Findings& findings) {
  const int gemm_sms = (plan.gemm_ctas + plan.kernel.ctas_per_sm - 1) / plan.kernel.ctas_per_sm;
  if (plan.transport == TILEPOST_TRANSPORT_NONE) {
    if (plan.comm_ctas != 0 || plan.cuts().size() != 1)
      findings.add(
          fmt::format("no overlap, but {0} CTAs are kept for the collective and there are {1} "
                      "groups",
                      plan.comm_ctas, plan.cuts().size()));
    if (gemm_sms > plan.sms)
      findings.add(fmt::format("the GEMM needs {0} SMs of {1}", gemm_sms, plan.sms));
  } else if (plan.comm_lanes < 1 || plan.comm_ctas < least_comm_ctas(plan) ||
             int64_t{gemm_sms} + plan.comm_ctas + (plan.comm_ctas > 0 ? 1 : 0) > plan.sms) {
    findings.add(
        fmt::format("GEMM on {0} SMs, collective on {1} and the waiter on 1 do not fit on {2}",
                    gemm_sms, plan.comm_ctas, plan.sms));
  }
  // A tile that waits for a group relies on the groups before it to be there.
  if (plan.map.division == TILEPOST_DIVISION_ARRIVALS && plan.comm_lanes != 1)
    findings.add(fmt::format("arrivals in {0} lanes do not come in order", plan.comm_lanes));
  if (const int64_t positions = most_positions(plan); plan.at_once() > positions)
    findings.add(fmt::format("a grid of {0} for {1} positions", plan.gemm_ctas, positions));
  const ArchInfo& arch = arch_info(plan.arch);
  const tilepost_kernel_t& kernel = plan.kernel;
  if (kernel.shared_bytes > arch.shared_per_block)
    findings.add(fmt::format("{0} bytes of shared memory, a block of {1} has {2}",
                             kernel.shared_bytes, name_of(plan.arch), arch.shared_per_block));
  if (plan.arch == Arch::host) return;
  if ((kernel.shared_bytes + arch.shared_reserved) * kernel.ctas_per_sm > arch.shared_per_sm)
    findings.add(fmt::format(
        "{0} CTAs of {1} bytes of shared memory do not fit on an SM of {2}, which "
        "has {3}",
        kernel.ctas_per_sm, kernel.shared_bytes, name_of(plan.arch), arch.shared_per_sm));
  if (kernel.threads * kernel.ctas_per_sm > arch.threads_per_sm)
    findings.add(fmt::format("{0} CTAs of {1} threads do not fit on an SM of {2}, which has {3}",
                             kernel.ctas_per_sm, kernel.threads, name_of(plan.arch),
                             arch.threads_per_sm));
}

// Follows what ranks exchange, unless a part above found a fault: steps of a faulty plan cannot be
// followed.
void check_exchange(const Plan& plan, Findings& findings) {
  const auto follow = check_of(plan).follow;
  if (!findings.empty() || follow == nullptr || !can_follow(plan)) return;
  for (int sample = 0; sample < num_samples(plan) && findings.empty(); ++sample) {
    TrafficMemory memory;
    follow(plan, traffic_of(plan, memory, sample), findings);
  }
}

// Checks that the pattern and the types allow the plan's operations.
void check_operations(const Plan& plan, Findings& findings) {
  const int nonlinear = TILEPOST_GELU | TILEPOST_SILU | TILEPOST_RESIDUAL;
  if (row_of(plan).sums && !row_of(plan).combines() && (plan.epilogue & nonlinear) != 0)
    findings.add(fmt::format("epilogue {0:#x} before a sum over ranks", plan.epilogue));
  if (!row_of(plan).communicates() && plan.transport != TILEPOST_TRANSPORT_NONE)
    findings.add(
        fmt::format("transport {0} with nothing to send", name_of(plan.planned_transport)));
  if (plan.routing != TILEPOST_ROUTING_EVEN && !row_of(plan).routes())
    findings.add(fmt::format("routing {0} with {1}", name_of(plan.routing), name_of(plan.pattern)));
  if (row_of(plan.output).is_narrow()) findings.add("a product of 8 bits");
  if (!quantises_as_it_may(plan) ||
      (quantises_tiles(plan) && plan.map.tile_n % TILEPOST_SCALE_BLOCK != 0))
    findings.add(fmt::format("{0} and consumer {1} of tiles with {2} columns, quantised",
                             name_of(plan.pattern), name_of(plan.consumer), plan.map.tile_n));
  const int scales = TILEPOST_SCALE | TILEPOST_SCALE_ROWS | TILEPOST_SCALE_COLUMNS;
  const bool scaled = plan.scales != TILEPOST_SCALES_NONE;
  if (scaled && (!row_of(plan.input).is_narrow() || (plan.epilogue & scales) != 0 ||
                 plan.accumulate != TILEPOST_PRECISE || row_of(plan).has_experts()))
    findings.add(fmt::format("scales of blocks of {0} summed {1}, epilogue {2:#x}, with {3}",
                             name_of(plan.input), name_of(plan.accumulate), plan.epilogue,
                             name_of(plan.pattern)));
  if (moved_scales(plan).exist() &&
      (plan.scales_a != TILEPOST_SCALES_ROWS || !brings_scales(plan.planned_transport)))
    findings.add(fmt::format("scales in {0} move with rows of A by {1}", name_of(plan.scales_a),
                             name_of(plan.planned_transport)));
  if (!row_of(plan.input).is_narrow()) return;
  if (plan.operands == TILEPOST_NN) findings.add(fmt::format("{0} along n", name_of(plan.input)));
  if (plan.arch == Arch::sm_80 || plan.arch == Arch::sm_86)
    findings.add(fmt::format("{0} on {1}", name_of(plan.input), name_of(plan.arch)));
}

// Checks that the plan's consumer can follow the plan.
void check_consumer(const Plan& plan, Findings& findings) {
  const bool tiles = plan.map.layout == TILEPOST_TILE;
  if (!row_of(plan).may_tile() && tiles)
    findings.add("tiles in slot order, and nothing is sent after the GEMM");
  const bool unpermutes = plan.consumer == TILEPOST_CONSUMER_UNPERMUTE;
  const bool norms = normalises(plan);
  if ((unpermutes && !tiles) || (norms && !row_of(plan).may_normalise()))
    findings.add(fmt::format("consumer {0} after {1} in layout {2}", name_of(plan.consumer),
                             name_of(plan.pattern), name_of(plan.map.layout)));
}

// A box of a tensor map and the rows it cuts: CUDA driver API, cuTensorMapEncodeTiled.
void check_box(char name, const tilepost_box_t& box, int64_t row_elements, tilepost_dtype_t type,
               Findings& findings) {
  const int64_t bytes = element_bytes(type);
  if (box.rows < 1 || box.rows > 256 || box.columns < 1 || box.columns > 256 ||
      box.columns * bytes % 16 != 0 || (box.swizzle == 128 && box.columns * bytes > 128))
    findings.add(
        fmt::format("a box of {0} columns and {1} rows of {2}", box.columns, box.rows, name));
  if (row_elements * bytes % 16 != 0)
    findings.add(fmt::format("rows of {0} are {1} bytes long, TMA needs multiples of 16", name,
                             row_elements * bytes));
}

void check_tensor_maps(const Plan& plan, Findings& findings) {
  const tilepost_kernel_t& kernel = plan.kernel;
  const bool custom =
      kernel.launch == TILEPOST_LAUNCH_CUSTOM && plan.access == TILEPOST_ACCESS_WRITE;
  if (kernel.launch != TILEPOST_LAUNCH_TMA && !custom) return;
  const bool nn = plan.operands == TILEPOST_NN;
  if (!custom) {
    check_box('A', kernel.box_a, plan.k, plan.input, findings);
    check_box('B', kernel.box_b, nn ? plan.map.n : plan.k, plan.input, findings);
  }
  check_box('C', kernel.box_c, plan.map.layout == TILEPOST_PANEL ? plan.map.n : plan.map.tile_n,
            quantises_tiles(plan) ? type_of_out(plan) : plan.output, findings);
}

}  // namespace

const PatternCheck& check_of(const Plan& plan) {
  static constexpr const PatternCheck* kChecks[] = {
      // by enumerator
      &kGemmAllReduceCheck, &kGemmCheck,          &kGemmReduceScatterCheck,
      &kGemmAllToAllCheck,  &kAllGatherGemmCheck, &kAllToAllGemmCheck,
      &kGemmCheck,          &kAllGatherGemmCheck, &kGemmReduceScatterCheck};
  static_assert(std::size(kChecks) == kNumPatterns);
  return *kChecks[plan.pattern];
}

std::vector<std::string> verify_plan(const Plan& plan) {
  Findings findings;
  if (!check_sizes(plan, findings) || !check_rows(plan, findings) ||
      !check_division(plan, findings) || !check_access(plan, findings) ||
      !check_shares(plan, findings))
    return findings.take();
  check_transport(plan, findings);
  check_neighbours(plan, findings);
  verify_exchange_of_tiles(plan, findings);
  check_own_rows(plan, findings);
  check_row_gap(plan, findings);
  check_meeting(plan, findings);
  if (verify_tiles(plan, plan.tile_map(), findings)) {
    verify_blocks(plan, plan.tile_map(), findings);
    verify_orders(plan, findings);
    verify_turns(plan, findings);
    check_cuts(plan, findings);
    check_exchange(plan, findings);
  }
  check_operations(plan, findings);
  verify_experts(plan, findings);
  check_consumer(plan, findings);
  check_tensor_maps(plan, findings);
  check_grid(plan, findings);
  check_budget(plan, findings);
  if (hash_tile_map(plan.tile_map()) != plan.map_hash)
    findings.add(fmt::format("the tile table hashes to {0:#x}, the plan says {1:#x}",
                             hash_tile_map(plan.tile_map()), plan.map_hash));
  return findings.take();
}

}  // namespace tilepost
