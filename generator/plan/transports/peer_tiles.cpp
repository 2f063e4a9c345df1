// transport: peer_tiles. Kernels for few rows meet and exchange tiles. Each kernel stores what it
// has computed into the memory of the ranks that get it, and its helper warps add up, or move, what
// has come from other ranks. Or kernels exchange rows of A: helper warps store them into the other
// ranks' memory before the tiles that need them are computed. One launch is the whole run.
#include <fmt/format.h>

#include <algorithm>

#include "generator/plan/kernels/sm90_small/sm90_small.h"
#include "generator/plan/transports/models.h"
#include "generator/plan/transports/objects.h"
#include "generator/spec/layer.h"
#include "generator/spec/rules/rules.h"
#include "generator/spec/text.h"
#include "tilepost/dtype.h"

namespace tilepost {
namespace {

class PeerTiles final : public Transport {
 public:
  PeerTiles()
      : Transport({.value = TILEPOST_TRANSPORT_PEER_TILES,
                   .overlaps = true,
                   .windows = false,
                   .needs = "needs peer access between all ranks: create fails with the reason "
                            "where there is none, then use transport: nccl"}) {}

  void check(const Spec& spec, Diagnostics& diagnostics) const override;
  bool may_try(const Spec& spec, const Plan& plan, const MachineProfile& profile) const override;
  std::string why_not_rows(const std::string& why_not_tma) const override {
    return fmt::format("transport 'peer_tiles' stores with TMA, but {0}; use copy_engine or nccl",
                       why_not_tma);
  }
  bool stores(const KernelConfig& config) const override { return exchanges_tiles(config); }
  bool serves(const Plan&, const std::vector<KernelChoice>&, const KernelConfig& one,
              int) const override {
    return exchanges_tiles(one);
  }
  // On the host nothing is timed, so that one choice is enough.
  std::vector<tilepost_shots_t> shots(const Spec& spec, const Plan& plan) const override {
    if (spec.schedule.shots.value) return {*spec.schedule.shots.value};
    if (row_of(plan).moves_input() || plan.arch == Arch::host) return {TILEPOST_ONE_SHOT};
    if (row_of(plan).product_leaves()) return {TILEPOST_ONE_SHOT_LINES, TILEPOST_ONE_SHOT};
    return {TILEPOST_ONE_SHOT_LINES, TILEPOST_ONE_SHOT, TILEPOST_TWO_SHOT};
  }
  bool pushes(const Plan& plan) const override {
    const bool rows = plan.access == TILEPOST_ACCESS_TILES && row_of(plan).moves_input();
    return rows || plan.shots == TILEPOST_TWO_SHOT;
  }
  std::vector<CommChoice> choices(const Plan&, const MachineProfile&, int) const override {
    return {{0, 1}};  // the GEMM has all SMs
  }
  TransferModel model(const TransferProblem& problem) const override;
  std::vector<std::string> describe(const Plan& plan) const override;
};

// ---- What the spec may not ask for

// Whether kernels can exchange what the pattern moves; reports an error if not. The plan must say
// to which rank a row of the product goes, so that every rank knows. A row of A must go to all
// ranks.
bool check_rows(const Spec& spec, Diagnostics& diagnostics) {
  const PatternRow& row = row_of(spec.pattern.value);
  if (may_exchange_tiles(row, spec.routing.value)) return true;
  if (!row.moves_product())
    diagnostics.error(spec.pattern.where,
                      "pattern " + quote(pattern_name(spec)) +
                          " is not possible with transport 'peer_tiles', whose kernels exchange "
                          "tiles of a product, or rows of A that all ranks get; use 'auto' or "
                          "'peer'");
  else
    diagnostics.error(spec.routing.where,
                      "routing " + quote(name_of(spec.routing.value)) +
                          " is not possible with transport 'peer_tiles', whose kernels exchange "
                          "tiles as the plan says; use 'even', or transport 'copy_engine'");
  note_transport(spec, diagnostics);
  return false;
}

void check_shots(const Spec& spec, Diagnostics& diagnostics) {
  const Located<std::optional<tilepost_shots_t>>& shots = spec.schedule.shots;
  const PatternRow& row = row_of(spec.pattern.value);
  const std::string pattern = "with pattern " + quote(pattern_name(spec));
  if (row.moves_input() && shots.value && shots.value != TILEPOST_ONE_SHOT)
    diagnostics.error(shots.where,
                      "schedule.shots is for tiles that are exchanged: " + pattern +
                          " rows of A go to all ranks in one shot; use 'one' or 'auto'");
  else if (row.product_leaves() && shots.value == TILEPOST_TWO_SHOT)
    diagnostics.error(shots.where,
                      "schedule.shots 'two' is for sums that all ranks get: " + pattern +
                          " a row goes to one rank, where it stays; use 'one', 'lines' or 'auto'");
  else
    return;
  diagnostics.note(spec.pattern.where, "pattern is given here");
}

void check_problem(const Spec& spec, Diagnostics& diagnostics) {
  if (!check_rows(spec, diagnostics)) return;
  if (spec.gemm.m.value > kMostExchangedRows) {
    diagnostics.error(spec.gemm.m.where,
                      fmt::format("gemm.m is '{0}', transport 'peer_tiles' is for at most {1} "
                                  "rows; use 'auto' or 'peer'",
                                  spec.gemm.m.value, kMostExchangedRows));
    note_transport(spec, diagnostics);
  }
  if (spec.ranks.value < 2 || spec.ranks.value > TILEPOST_MOST_EXCHANGING) {
    diagnostics.error(spec.ranks.where,
                      fmt::format("ranks is '{0}', transport 'peer_tiles' is for 2 to {1}, GPUs of "
                                  "one host; use 'auto' or 'nccl'",
                                  spec.ranks.value, TILEPOST_MOST_EXCHANGING));
    note_transport(spec, diagnostics);
  }
}

// Nothing runs beside the kernel, which waits for other ranks tile by tile.
void check_schedule(const Spec& spec, Diagnostics& diagnostics) {
  const ScheduleSpec& schedule = spec.schedule;
  if (schedule.comm_sms) {
    diagnostics.error(schedule.comm_sms->where,
                      "schedule.comm_sms is not possible with transport 'peer_tiles', where helper "
                      "warps of the GEMM do the exchange and it has all SMs; remove it or use "
                      "'peer'");
    note_transport(spec, diagnostics);
  }
  if (schedule.groups && schedule.groups->value.size() > 1) {
    diagnostics.error(schedule.groups->where,
                      fmt::format("{0} groups, but kernels of transport 'peer_tiles' exchange "
                                  "everything in one; remove schedule.groups or use 'peer'",
                                  schedule.groups->value.size()));
    note_transport(spec, diagnostics);
  }
  if (schedule.wait.value == TILEPOST_WAIT_STREAM) {
    diagnostics.error(schedule.wait.where,
                      "schedule.wait 'stream' is not possible with transport 'peer_tiles', whose "
                      "kernel waits for what other GPUs store; use 'poll'");
    note_transport(spec, diagnostics);
  }
}

void check_neighbours(const Spec& spec, Diagnostics& diagnostics) {
  if (!spec.neighbours.value) return;
  diagnostics.error(spec.transport.where,
                    "transport 'peer_tiles' is not possible with neighbours 'true': its kernel "
                    "holds SMs while it waits for tiles of other ranks; use 'auto', 'peer', "
                    "'copy_engine', 'nccl' or 'none', or remove neighbours");
  diagnostics.note(spec.neighbours.where, "neighbours is given here");
}

void PeerTiles::check(const Spec& spec, Diagnostics& diagnostics) const {
  check_problem(spec, diagnostics);
  check_shots(spec, diagnostics);
  check_whole_rows(spec, diagnostics);
  check_schedule(spec, diagnostics);
  check_tma(spec, diagnostics);
  check_neighbours(spec, diagnostics);
}

int64_t most_timed_rows(const TileProfile& tiles, const Plan& plan) {
  if (row_of(plan).moves_input()) return tiles.most_gathered_rows;
  return kernels_normalise(plan) ? tiles.most_normalised_rows : tiles.most_rows;
}

// Whether check() would find nothing wrong and this many rows were timed. Kernels that cannot
// exchange tiles are left out when candidates are listed.
bool PeerTiles::may_try(const Spec& spec, const Plan& plan, const MachineProfile& profile) const {
  const ScheduleSpec& schedule = spec.schedule;
  return may_share(plan, profile) && plan.ranks <= TILEPOST_MOST_EXCHANGING &&
         may_exchange_tiles(row_of(plan), plan.routing) &&
         plan.map.m <= most_timed_rows(profile.peers.tiles, plan) && plan.neighbours == 0 &&
         !schedule.comm_sms && (!schedule.groups || schedule.groups->value.size() == 1) &&
         schedule.wait.value != TILEPOST_WAIT_STREAM;
}

// ---- What it takes

const ShotProfile& profile_of(const TileProfile& tiles, tilepost_shots_t shots) {
  if (shots == TILEPOST_TWO_SHOT) return tiles.two_shots;
  return shots == TILEPOST_ONE_SHOT ? tiles.one_shot : tiles.lines;
}

// Time to read weights once more, us. Tiles of a rank's own rows come first. Weights that do not
// stay in L2 until the tiles of other rows need them are read a second time.
double read_again(const TransferProblem& problem) {
  const Plan& plan = problem.plan;
  const double weights = static_cast<double>(plan.map.n * plan.k * element_bytes(plan.input));
  const bool again = problem.tile_rows > 1 && weights > problem.profile.peers.tiles.weights_in_l2;
  return again ? weights / problem.profile.chip.memory_bytes_per_us : 0;
}

// The model for rows of A. It counts what a rank sends; the tiles of its own rows do not wait for
// that.
TransferModel model_rows(const TransferProblem& problem) {
  const TileProfile& tiles = problem.profile.peers.tiles;
  TransferModel model;
  model.wave = problem.wave * (1 + read_again(problem) / problem.computed);
  model.group.latency = tiles.rows_latency_us;
  model.group.per_byte = per_byte(problem, tiles.rows_us_per_mib);
  return model;
}

// How many shares of what it has computed a rank sends to every other rank. In one shot it sends
// all shares, or only the one that the other rank gets. In two shots it sends one share, and then
// the sums of its own.
int shares_sent(const TransferProblem& problem) {
  if (row_of(problem.plan).product_leaves()) return 1;
  return problem.shots == TILEPOST_TWO_SHOT ? 2 : problem.plan.ranks;
}

TransferModel PeerTiles::model(const TransferProblem& problem) const {
  if (row_of(problem.plan).moves_input()) return model_rows(problem);
  const ShotProfile& shot = profile_of(problem.profile.peers.tiles, problem.shots);
  const TileProfile& tiles = problem.profile.peers.tiles;
  const double times = shares_sent(problem);
  TransferModel model;
  model.wave = problem.wave * (problem.plan.map.m > tiles.usual_rows ? tiles.tall : 1);
  model.group.latency = shot.latency_us;
  model.group.per_byte = times * per_byte(problem, shot.us_per_mib);
  model.group.tail =
      times * per_byte(problem, shot.wave_us_per_mib) * std::min(problem.wave_bytes, problem.bytes);
  return model;
}

// ---- What it does

std::vector<std::string> describe_shots(const Plan& plan) {
  if (plan.shots != TILEPOST_SHOTS_NONE && row_of(plan).moves_input())
    return {
        "helper warps of each CTA store some of this rank's rows of A into all other ranks' "
        "memory, and tiles wait for the rows they need"};
  const bool shares = row_of(plan).product_leaves();
  const bool sums = row_of(plan).sums;
  switch (plan.shots) {
    case TILEPOST_SHOTS_NONE:
      return {};
    case TILEPOST_ONE_SHOT_LINES:
      return {fmt::format(
          "helper warps of each CTA store its tiles into {0}, in lines of 16 bytes that say "
          "themselves which run they are of, and {1}",
          shares ? "the memory of the ranks whose rows they are" : "all other ranks' memory",
          sums ? "sum in the order of ranks" : "move what has come to the output")};
    case TILEPOST_ONE_SHOT:
      return {shares ? fmt::format("each kernel stores boxes of {0} rows into the memory of the "
                                   "ranks whose rows they are",
                                   plan.kernel.box_c.rows)
                     : "each kernel stores its tiles into all other ranks' memory",
              sums ? "helper warps of each CTA sum the parts of its tiles in the order of ranks"
                   : "helper warps of each CTA move the parts of its tiles to the output"};
    case TILEPOST_TWO_SHOT:
      break;
  }
  return {
      fmt::format("each kernel stores boxes of {0} rows into the memory of the one rank that "
                  "sums them",
                  plan.kernel.box_c.rows),
      "helper warps of each CTA sum the parts in the order of ranks and store the sums into all "
      "other ranks' memory"};
}

std::vector<std::string> PeerTiles::describe(const Plan& plan) const {
  std::vector<std::string> lines = describe_shots(plan);
  const RunPath path = paths_of(plan).planned;
  if (path.normalises)
    lines.push_back("and normalise the rows, each in one CTA: no kernel follows");
  else if (path.consumes)
    lines.push_back(fmt::format("a pass behind the kernel {}quantises the rows",
                                normalises(plan) ? "normalises and " : ""));
  return lines;
}

}  // namespace

const Transport& peer_tiles_transport() {
  static const PeerTiles transport;
  return transport;
}

}  // namespace tilepost
