// transport: peer. The kernel stores tiles into the memory of the ranks that own their rows. Helper
// warps push rows of A, add up parts and push their sums. Where tokens go to experts, small kernels
// do so.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "generator/plan/kernels/operands.h"
#include "generator/plan/kernels/sm90/sm90.h"
#include "generator/plan/kernels/sm90_experts/sm90_experts.h"
#include "generator/plan/transports/models.h"
#include "generator/plan/transports/objects.h"
#include "generator/spec/layer.h"
#include "generator/spec/text.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/tile_map.h"

namespace tilepost {
namespace {

// Whether helper warps would push rows of A beside neighbours. Helper warps are part of the GEMM,
// whose tiles would wait for rows of other ranks while the GEMM holds SMs.
bool pushes_beside_neighbours(const Spec& spec) {
  return spec.neighbours.value && row_of(spec.pattern.value).moves_input();
}

// Whether kernels meet by themselves. They do where helper warps do all that is to be done with
// what other ranks store, or push all rows. Helper warps have an address for each rank of one host.
bool is_whole_run(const Plan& plan, int task_parts) {
  return task_parts > 0 && plan.ranks <= TILEPOST_MOST_EXCHANGING;
}

// Whether the kernel that sums tokens can serve all ranks: it has a flag for each of them.
bool sums_for_too_many(const PatternRow& row, int64_t ranks) {
  return row.combines() && ranks > TILEPOST_MOST_EXCHANGING;
}

// Time in which a rank stores its rows of A in the memory of all other ranks.
double pushed_us(const Plan& plan, const MachineProfile& profile) {
  const double sent =
      static_cast<double>(plan.map.m * moved_row_bytes(plan)) * sent_part(plan.ranks);
  return sent / kMib * profile.peers.stores.us_per_mib;
}

// Whether a kernel in front of the GEMM would delay it by more than copies beside it come late:
// tokens of so many bytes are for copies.
bool pushes_too_many(const Plan& plan, const MachineProfile& profile) {
  const CopyProfile& copies = profile.peers.copies;
  return row_of(plan).dispatches() && pushed_us(plan, profile) > copies.push_us + copies.landed_us;
}

class Peer final : public Transport {
 public:
  Peer()
      : Transport({.value = TILEPOST_TRANSPORT_PEER,
                   .overlaps = true,
                   .windows = false,
                   .needs = "needs peer access between all ranks: create fails with the reason "
                            "where there is none, then use transport: nccl"}) {}

  void check(const Spec& spec, Diagnostics& diagnostics) const override;

  // Kernels that cannot store to peers are left out when candidates are listed.
  bool may_try(const Spec& spec, const Plan& plan, const MachineProfile& profile) const override {
    return may_share(plan, profile) && !is_routed(plan) && !pushes_beside_neighbours(spec) &&
           !sums_for_too_many(row_of(plan), plan.ranks) && !pushes_too_many(plan, profile) &&
           !(row_of(plan).has_tokens() && spec.schedule.comm_sms) &&
           spec.schedule.wait.value != TILEPOST_WAIT_STREAM;
  }
  std::string why_not_rows(const std::string& why_not_tma) const override {
    return fmt::format("transport 'peer' stores with TMA, but {0}; use copy_engine or nccl",
                       why_not_tma);
  }
  // A kernel of experts stores nothing there. Another kernel stores tokens before it, or sums of
  // tokens behind it.
  bool stores(const KernelConfig& config) const override {
    return stores_to_peers(config) || config.family == &sm90_experts_family();
  }
  bool keep_kernels(const Spec& spec, const Plan& plan, std::vector<KernelChoice>& kernels,
                    Diagnostics& diagnostics) const override;
  bool serves(const Plan& plan, const std::vector<KernelChoice>& all, const KernelConfig& one,
              int task_parts) const override;
  bool pushes(const Plan& plan) const override {
    if (row_of(plan).moves_input()) return true;
    if (plan.fused != 0) return pushes_when_fused(row_of(plan));
    return row_of(plan).product_spreads() && plan.sum == TILEPOST_SUM_STAGED &&
           (moves_inside(plan) || plan.arch == Arch::host);
  }
  bool fuses(const KernelConfig& config, const Plan& plan) const override {
    const bool may = row_of(plan).moves_product() && plan.sum == TILEPOST_SUM_STAGED &&
                     plan.ranks > 1 && plan.ranks <= TILEPOST_MOST_EXCHANGING;
    return may && (row_of(plan).sums ? config.family->adds_sources(config, plan)
                                     : config.family->begins_runs(config, plan));
  }
  bool reads_own(const KernelConfig&, const Plan& plan, int task_parts) const override {
    const bool pushed = row_of(plan).dispatches() && plan.arch != Arch::host;
    return pushed || (row_of(plan).moves_input() && task_parts > 0);
  }
  int row_gap(const Plan& plan) const override;
  bool whole_run(const Plan& plan) const override {
    return plan.fused != 0 || is_whole_run(plan, plan.task_parts);
  }
  std::vector<CommChoice> choices(const Plan& plan, const MachineProfile& profile,
                                  int task_parts) const override {
    // The GEMM has all SMs.
    if (task_parts > 0 || row_of(plan).has_tokens()) return {{0, 1}};
    return choices_for_sums(plan, profile);
  }
  TransferModel model(const TransferProblem& problem) const override {
    if (problem.fused) return model_fused(problem);
    if (row_of(problem.plan).dispatches()) return model_pushed_tokens(problem);
    return row_of(problem.plan).moves_input() ? model_pushed_rows(problem) : model_stores(problem);
  }
  std::vector<std::string> describe(const Plan& plan) const override;

 private:
  int tasks_beside(const Plan& plan) const override {
    if (!row_of(plan).sums) return 1;
    return plan.sum == TILEPOST_SUM_STAGED ? plan.ranks : 0;
  }

  static TransferModel model_pushed_rows(const TransferProblem& problem);
  static TransferModel model_pushed_tokens(const TransferProblem& problem);
  static TransferModel model_stores(const TransferProblem& problem);
  static TransferModel model_fused(const TransferProblem& problem);
};

// Rows of A are pushed by helper warps, which nothing can replace. Tiles come from a kernel that
// stages whole tiles if the spec leaves any such kernel.
bool Peer::serves(const Plan& plan, const std::vector<KernelChoice>& all, const KernelConfig& one,
                  int task_parts) const {
  if (row_of(plan).has_tokens()) return true;  // another kernel stores
  if (row_of(plan).moves_input()) return plan.arch == Arch::host || task_parts > 0;
  const auto whole = [](const KernelChoice& other) { return stages_whole_tile(other.config); };
  return stores_to_peers(one) && (stages_whole_tile(one) || std::ranges::none_of(all, whole));
}

// Rows that do not begin on sectors of memory take up to a sixth longer on the links, which then
// carry parts of sectors. With gaps rows begin on lines, which was faster than beginning on
// sectors. Rows that begin on sectors anyway gain nothing by that. Short rows get no gaps, since
// helper warps would have to ask for many pieces.
int Peer::row_gap(const Plan& plan) const {
  constexpr int64_t kSectorBytes = 32, kLineBytes = 128, kShortBytes = 1024;
  const int64_t width = bytes_of(plan.output), bytes = plan.map.n * width;
  const bool finished = plan.fused != 0 && !row_of(plan).sums;  // outputs have no gaps
  if (row_of(plan).moves_input() || !moves_inside(plan) || bytes < kShortBytes) return 0;
  if (finished) return 0;
  if (bytes % kSectorBytes == 0) return 0;
  return static_cast<int>((kLineBytes - bytes % kLineBytes) / width);
}

// ---- What the spec may not ask for

void check_budget(const Spec& spec, Diagnostics& diagnostics) {
  const PatternRow& row = row_of(spec.pattern.value);
  if (!spec.schedule.comm_sms || !(row.moves_input() || row.combines())) return;
  const char* const who = row.combines()     ? "a kernel behind the GEMM stores sums"
                          : row.dispatches() ? "a kernel in front of the GEMM stores tokens"
                                             : "helper warps of the GEMM store the rows of A";
  diagnostics.error(
      spec.schedule.comm_sms->where,
      fmt::format(
          "schedule.comm_sms is not possible with pattern {} and transport 'peer', where {} "
          "and the GEMM has all SMs; remove it or use copy_engine",
          quote(pattern_name(spec)), who));
  note_transport(spec, diagnostics);
}

void check_routing(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.routing.given() || spec.routing.value == TILEPOST_ROUTING_EVEN) return;
  diagnostics.error(spec.routing.where,
                    "routing " + quote(name_of(spec.routing.value)) +
                        " is not possible with transport 'peer', whose " +
                        (row_of(spec.pattern.value).moves_input()
                             ? "helper warps store rows of A where the plan says"
                             : "kernel stores whole tiles into one rank's memory") +
                        "; use copy_engine");
  note_transport(spec, diagnostics);
}

// Other GPUs raise the counters, and a memory operation of the stream does not see that.
void check_wait(const Spec& spec, Diagnostics& diagnostics) {
  if (spec.schedule.wait.value != TILEPOST_WAIT_STREAM) return;
  diagnostics.error(spec.schedule.wait.where,
                    "schedule.wait 'stream' is not possible with transport 'peer': other GPUs "
                    "raise the counters, which only a kernel waits for in order; use 'poll'");
  note_transport(spec, diagnostics);
}

// No transport brings tokens beside neighbours, which other rules say.
void check_neighbours(const Spec& spec, Diagnostics& diagnostics) {
  if (!pushes_beside_neighbours(spec) || row_of(spec.pattern.value).dispatches()) return;
  diagnostics.error(
      spec.transport.where,
      fmt::format("transport 'peer' is not possible with pattern {} and neighbours 'true': its "
                  "GEMM would hold SMs while it waits for rows of other ranks; use 'auto', "
                  "'copy_engine', 'nccl' or 'none', or remove neighbours",
                  quote(pattern_name(spec))));
  diagnostics.note(spec.neighbours.where, "neighbours is given here");
}

void check_flags(const Spec& spec, Diagnostics& diagnostics) {
  if (!sums_for_too_many(row_of(spec.pattern.value), spec.ranks.value)) return;
  diagnostics.error(
      spec.ranks.where,
      fmt::format("ranks is '{0}', transport 'peer' sums tokens for at most {1}, GPUs "
                  "of one host; use 'auto' or 'copy_engine'",
                  spec.ranks.value, TILEPOST_MOST_EXCHANGING));
  note_transport(spec, diagnostics);
}

void Peer::check(const Spec& spec, Diagnostics& diagnostics) const {
  check_partners(spec, row.value, diagnostics);
  check_flags(spec, diagnostics);
  check_whole_rows(spec, diagnostics);
  check_budget(spec, diagnostics);
  check_routing(spec, diagnostics);
  check_tma(spec, diagnostics);
  check_wait(spec, diagnostics);
  check_neighbours(spec, diagnostics);
}

// Reports that no kernel has a helper warp, at the field of the spec that rules them out.
void refuse_no_helper_warp(const Spec& spec, Diagnostics& diagnostics) {
  const ScheduleSpec& schedule = spec.schedule;
  const std::string without = fmt::format(
      "helper warp to store rows of A into other ranks' memory, as transport 'peer' has it do: "
      "that "
      "takes registers and {0} bytes of shared memory",
      kHelperBytes);
  if (schedule.stages)
    diagnostics.error(
        schedule.stages->where,
        fmt::format("{0} stages leave the kernel no {1}; ask for fewer or use copy_engine",
                    schedule.stages->value, without));
  else if (schedule.tile)
    diagnostics.error(
        schedule.tile->where,
        fmt::format("tile '{0}x{1}' leaves the kernel no {2}; remove it or use copy_engine",
                    schedule.tile->value[0], schedule.tile->value[1], without));
  else
    diagnostics.error(spec.transport.where,
                      fmt::format("no kernel here leaves {0}; use copy_engine", without));
}

// Only helper warps push rows of A that are not tokens, so that a kernel without one cannot go with
// this transport.
bool Peer::keep_kernels(const Spec& spec, const Plan& plan, std::vector<KernelChoice>& kernels,
                        Diagnostics& diagnostics) const {
  if (!row_of(plan).moves_input() || plan.arch == Arch::host) return true;
  if (plan.ranks > kMostOnOneHost) {
    diagnostics.error(spec.ranks.where,
                      fmt::format("transport 'peer' gathers A over at most {0} ranks, the GPUs of "
                                  "one host; use copy_engine or nccl",
                                  kMostOnOneHost));
    return false;
  }
  if (row_of(plan).dispatches()) return true;
  std::erase_if(kernels,
                [&](const KernelChoice& kernel) { return task_parts(kernel.config, plan) == 0; });
  if (kernels.empty()) refuse_no_helper_warp(spec, diagnostics);
  return !kernels.empty();
}

// ---- What it takes

double wave_beside_pushes(const TransferProblem& problem) {
  return problem.wave * computed_beside(problem, problem.profile.peers.tasks.pushed_us_per_mib) /
         problem.computed;
}

// The time in which ranks agree that a run begins. It is less inside a kernel that is a whole run.
double meeting_us(const TransferProblem& problem) {
  const PeersProfile& peers = problem.profile.peers;
  return is_whole_run(problem.plan, problem.task_parts) ? peers.inside_us : peers.meet_us;
}

TransferModel Peer::model_pushed_rows(const TransferProblem& problem) {
  const MachineProfile& profile = problem.profile;
  TransferModel model;
  model.wave = wave_beside_pushes(problem);
  model.group = {profile.peers.stores.latency_us + profile.peers.tasks.latency_us +
                     profile.peers.tasks.rows_us,
                 per_byte(problem, profile.peers.tasks.rows_us_per_mib), 0};
  model.announce = meeting_us(problem);
  return model;
}

// A kernel in front of the GEMM stores tokens, so that the GEMM ends as much later as that takes.
// The other ranks' tokens come when that kernel has ended, or a little later.
TransferModel Peer::model_pushed_tokens(const TransferProblem& problem) {
  const MachineProfile& profile = problem.profile;
  TransferModel model;
  model.wave = problem.wave * (1 + pushed_us(problem.plan, profile) / problem.computed);
  model.group = {profile.peers.stores.latency_us,
                 per_byte(problem, profile.peers.stores.us_per_mib), 0};
  model.announce = profile.peers.meet_us;
  return model;
}

// Time per byte of a group for sums that all ranks get. The sums travel once more, which takes
// `spread` per byte. They share the links with the stores of what is computed meanwhile, which take
// `stored` per byte. These stores count fully where both together take longer than the GEMM.
double spread_per_byte(const TransferProblem& problem, double computed, double spread,
                       double stored) {
  const double busy = std::min(1.0, (spread + stored) * problem.bytes / computed);
  return spread + busy * stored;
}

// Helper warps work on one group while the links carry tiles and sums of others. So only the
// latencies of the last group show: that of its tiles and that of its sums, which warps that have
// finished multiplying wait for. Helper warps read what they add up, and what has landed.
CollectiveModel model_pushed_sums(const TransferProblem& problem) {
  const MachineProfile& profile = problem.profile;
  const double moved = (1 + sent_part(problem.plan.ranks)) / profile.peers.tasks.bytes_per_us;
  const double both =
      per_byte(problem, interpolate(profile.peers.stores.both_us_per_mib, problem.tile_kib));
  const double pushed = spread_per_byte(
      problem, computed_beside(problem, profile.peers.tasks.pushed_us_per_mib), both, both);
  return {profile.peers.tasks.sums_us, std::max(moved, pushed),
          2 * profile.peers.stores.latency_us};
}

// What follows the stores of a group. The stores themselves belong to the GEMM's waves.
CollectiveModel model_after_stores(const TransferProblem& problem, double stored, bool twice) {
  const MachineProfile& profile = problem.profile;
  const bool tasks = problem.task_parts > 0;
  if (tasks && twice) return model_pushed_sums(problem);
  CollectiveModel group;
  group.latency = profile.peers.stores.latency_us;
  if (tasks) {
    group.latency += profile.peers.tasks.latency_us;
    group.per_byte = 1 / profile.peers.tasks.bytes_per_us;
  } else {
    group.latency += profile.collectives.wait_of(TILEPOST_WAIT_POLL) +
                     (twice ? profile.peers.copies.latency_us : 0);
    const double copied =
        twice ? spread_per_byte(problem, problem.computed, copy_per_byte(problem), stored) : 0;
    group.per_byte = with_sums(problem, 2, copied);  // all that landed is read and written
  }
  hide_latency(problem, group);
  return group;
}

// Time of a wave beside the stores of the wave before it and beside the tasks for these stores.
double wave_with_stores(const TransferProblem& problem, bool twice) {
  const MachineProfile& profile = problem.profile;
  if (problem.task_parts == 0) return problem.wave * profile.peers.stores.beside_stores;
  return twice ? wave_beside_pushes(problem) : problem.wave * profile.peers.tasks.beside_tasks;
}

TransferModel Peer::model_stores(const TransferProblem& problem) {
  const MachineProfile& profile = problem.profile;
  const bool twice = row_of(problem.plan).product_spreads();
  const double stored = per_byte(problem, profile.peers.stores.us_per_mib);
  const double wave_stores = problem.wave_bytes * stored;
  TransferModel model;
  if (row_of(problem.plan).combines()) {  // all of it comes behind the GEMM
    model.wave = std::max(problem.wave, wave_stores);
    model.group.tail = meeting_us(problem);
    return model;
  }
  model.wave = std::max(wave_with_stores(problem, twice), wave_stores);
  model.group = model_after_stores(problem, stored, twice);
  model.group.tail += profile.peers.stores.drain * wave_stores;
  model.group.tail += meeting_us(problem);
  if (problem.task_parts > 0)
    model.most_bytes =
        twice ? profile.peers.tasks.most_bytes_of_sums : profile.peers.tasks.most_bytes;
  return model;
}

// Stores and sums are part of the kernel, so that its waves take a little longer. Where the links
// take about as long as the products, both times show, and are added as in a p-norm. Sums that all
// ranks get take the links once more. After the last wave, the sources of its tiles still have to
// arrive, and the finished tiles have to be stored.
TransferModel Peer::model_fused(const TransferProblem& problem) {
  const FusedProfile& fused = problem.profile.peers.fused;
  const int times = row_of(problem.plan).product_spreads() ? 2 : 1;
  const double stored =
      times * problem.wave_bytes * per_byte(problem, problem.profile.peers.stores.us_per_mib);
  const auto power = [&](double us) { return std::pow(us, fused.sharpness); };
  TransferModel model;
  model.wave =
      std::pow(power(problem.wave * fused.beside_sums) + power(stored), 1 / fused.sharpness);
  model.group.latency = fused.latency_us;
  model.group.tail = problem.profile.peers.inside_us;
  return model;
}

// ---- What it does

std::string describe_parts(const Plan& plan) {
  if (plan.fused)
    return row_of(plan).sums
               ? "the kernels of all ranks store this rank's rows here, and this rank's adds them "
                 "in the epilogue of its own tiles, which come later"
               : "each kernel stores tiles in the outputs of the ranks that get them";
  if (row_of(plan).combines())
    return "a kernel behind the GEMM stores sums of other ranks' tokens in their memory, and adds "
           "theirs to its own";
  const std::string adder = plan.task_parts > 0 ? "a helper warp of each CTA" : "a kernel";
  if (!row_of(plan).sums)
    return "the kernels of all ranks store the rows for this rank here" +
           (plan.task_parts > 0 ? ", " + adder + " moves them to the output" : "");
  return "the kernels of all ranks store this rank's rows here" +
         (plan.sum == TILEPOST_SUM_ADDED ? ", each added to what is there as it arrives"
                                         : ", " + adder + " sums them in the order of ranks");
}

// What follows the stores of an AllReduce.
std::string describe_sums(const Plan& plan) {
  if (!plan.pushes) return "copy engines bring what the other ranks have summed";
  if (plan.fused)
    return "it stores each sum with all ranks, in their outputs where these are registered";
  const std::string pushed = "helper warps store what is summed into the other ranks' memory, ";
  return pushed + (plan.consumer == TILEPOST_CONSUMER_NONE
                       ? "and move what has landed to the output"
                       : "where their consumers read it");
}

std::vector<std::string> Peer::describe(const Plan& plan) const {
  const std::string meet =
      "the kernels of all ranks meet by themselves: none runs before them or behind";
  std::vector<std::string> lines;
  if (row_of(plan).dispatches())
    return {
        "the kernel that lists tile rows stores this rank's tokens into the other ranks' memory, "
        "in front of the GEMM"};
  if (row_of(plan).moves_input()) {
    lines.emplace_back("helper warps store this rank's rows of A into the other ranks' memory");
    if (plan.whole_run) lines.push_back(meet);
    return lines;
  }
  lines.push_back(describe_parts(plan));
  if (row_of(plan).product_spreads()) lines.push_back(describe_sums(plan));
  if (plan.row_gap > 0)
    lines.push_back(fmt::format(
        "{0} elements follow each row there, so that all begin on lines of memory", plan.row_gap));
  if (plan.whole_run && !plan.fused)
    lines.emplace_back("warps that have nothing left to multiply do this for the last group");
  if (plan.whole_run) lines.push_back(meet);
  return lines;
}

}  // namespace

const Transport& peer_transport() {
  static const Peer transport;
  return transport;
}

}  // namespace tilepost
