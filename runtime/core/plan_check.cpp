#include "runtime/core/plan_check.h"

#include <algorithm>
#include <cinttypes>
#include <limits>
#include <string>

#include "runtime/core/error.h"
#include "runtime/map/enumerators.h"
#include "runtime/map/moved_scales.h"
#include "runtime/map/quantised.h"
#include "runtime/map/run_path.h"
#include "runtime/map/tile_map.h"
#include "tilepost/internal/task_chunks.h"

namespace tilepost {
namespace {

constexpr int64_t kMostExtent = std::numeric_limits<int32_t>::max();
// Each rule returns whether it holds. The first rule that does not hold sets the error.
class PlanRules {
 public:
  PlanRules(const char* name, const tilepost_plan_t& plan, const PlanLimits& limits)
      : name_(name), plan_(plan), map_(plan.map), limits_(limits) {}

  // A rule that reads a field follows the rule that bounds the field.
  tilepost_result_t check(int world) {
    if (values_are_known() && types() && extents() && kernel() && ranks(world) && rows_sent() &&
        transport() && layout() && division() && consumer() && elements() && sharing() && shots() &&
        pushes() && sums() && tasks() && row_gap() && whole_run() && neighbours() && reads_own() &&
        groups())
      return schedule();
    return result_;
  }

 private:
  bool on_host() const { return plan_.kernel.launch == TILEPOST_LAUNCH_HOST; }
  const PatternRow& row() const { return row_of(plan_); }
  bool shares_memory() const { return plan_.access != TILEPOST_ACCESS_MESSAGES; }
  bool writes() const { return plan_.access == TILEPOST_ACCESS_WRITE; }

  // ---- How a rule is stated

  bool expect(bool holds, const char* what, int64_t value, const std::string& expected) {
    if (holds) return true;
    result_ = fail(TILEPOST_INVALID_ARGUMENT,
                   "'%s': the plan's %s is %" PRId64 ", expected %s; regenerate it", name_, what,
                   value, expected.c_str());
    return false;
  }
  bool in_range(const char* what, int64_t value, int64_t least, int64_t most) {
    return expect(value >= least && value <= most, what, value,
                  std::to_string(least) + " to " + std::to_string(most));
  }
  bool positive(const char* what, int64_t value) { return in_range(what, value, 1, kMostExtent); }
  bool is_there(const void* pointer, const char* what) {
    if (pointer != nullptr) return true;
    result_ =
        fail(TILEPOST_INVALID_ARGUMENT, "'%s': the plan has no %s; regenerate it", name_, what);
    return false;
  }
  // Whether the field has the value of one of the first `count` enumerators.
  template <class Enum>
  bool known(const char* what, const Enum& field, int count) {
    const int value = stored_value(field);
    if (value >= 0 && value < count) return true;
    result_ = fail(TILEPOST_UNSUPPORTED,
                   "'%s': the %s target does not know %s %d; regenerate it with this version",
                   name_, limits_.target, what, value);
    return false;
  }
  template <HasTable Enum>
  bool known(const char* what, const Enum& field) {
    return known(what, field, count_enumerators<Enum>());
  }

  // ---- The rules

  bool values_are_known() {
    return known("pattern", plan_.pattern, kNumPatterns) && known("routing", plan_.routing) &&
           known("layout", map_.layout) && known("division", map_.division) &&
           known("transport", plan_.transport) && known("access", plan_.access, limits_.last + 1) &&
           known("sum", plan_.sum) && known("shots", plan_.shots) && known("wait", plan_.wait) &&
           known("consumer", plan_.consumer) && known("operands", plan_.operands) &&
           known("scales", plan_.scales) && known("scales_a", plan_.scales_a) &&
           known("scales_out", plan_.scales_out) && known("input type", plan_.input, kNumDtypes) &&
           known("launch", plan_.kernel.launch) && known("output type", plan_.output, kNumDtypes);
  }

  bool types() {
    const DtypeRow& output = row_of(plan_.output);
    return expect(output.may_be_output(), "output type", plan_.output,
                  std::string("one of 16 or 32 bits; ") + output.name + ", " +
                      std::to_string(output.value) + ", is of inputs only") &&
           expect(quantises_as_it_may(plan_), "quantised", plan_.quantised,
                  "0, or 1 where the kernel's tiles in rows, or the consumer, are quantised");
  }

  // Whether the sizes that the runtime divides by, counts with or hands to kernels are sound.
  bool extents() {
    if (!(positive("m", map_.m) && positive("n", map_.n) && positive("k", plan_.k) &&
          positive("tile_m", map_.tile_m) && positive("tile_n", map_.tile_n) &&
          positive("cluster", map_.cluster) && positive("band", map_.band) &&
          positive("signals_per_tile", map_.signals_per_tile) &&
          positive("num_groups", map_.num_groups)))
      return false;
    const int64_t rows = (map_.m + map_.tile_m - 1) / map_.tile_m;
    const int64_t padded = (rows + map_.cluster - 1) / map_.cluster * map_.cluster;
    const int64_t columns = (map_.n + map_.tile_n - 1) / map_.tile_n;
    return expect(padded <= kMostExtent / columns, "number of tile rows", padded,
                  "fewer than 2^31 tiles");
  }

  bool kernel() {
    const tilepost_kernel_t& kernel = plan_.kernel;
    if (!user_data()) return false;
    if (on_host())
      return is_there(reinterpret_cast<const void*>(kernel.host_function), "host kernel");
    return is_there(kernel.function, "kernel") && launcher() &&
           positive("kernel.cluster", kernel.cluster) &&
           positive("kernel.ctas_per_sm", kernel.ctas_per_sm) &&
           positive("kernel.threads", kernel.threads) && block() &&
           in_range("kernel.tile_per_cta", kernel.tile_per_cta, 0, 1) &&
           expect(!kernel.tile_per_cta || map_.cluster == 1, "cluster", map_.cluster,
                  "1 where the grid has a CTA for every tile") &&
           positive("gemm_ctas", plan_.gemm_ctas) &&
           expect(plan_.gemm_ctas % map_.cluster == 0, "gemm_ctas", plan_.gemm_ctas,
                  "whole clusters of " + std::to_string(map_.cluster) + " tiles") &&
           expect(plan_.gemm_ctas % kernel.cluster == 0, "gemm_ctas", plan_.gemm_ctas,
                  "whole clusters of " + std::to_string(kernel.cluster) + " CTAs");
  }

  bool user_data() {
    const tilepost_kernel_t& kernel = plan_.kernel;
    if (!in_range("kernel.num_user", kernel.num_user, 0, TILEPOST_MOST_USER_DATA)) return false;
    if (kernel.num_user == 0) return true;
    if (!is_there(reinterpret_cast<const void*>(kernel.user), "user data's names")) return false;
    for (int i = 0; i < kernel.num_user; ++i)
      if (!is_there(kernel.user[i], "user data's name")) return false;
    return expect(on_host() || kernel.launch == TILEPOST_LAUNCH_CUSTOM, "kernel.launch",
                  kernel.launch, "a launcher (3), which hands user data on");
  }

  bool launcher() {
    return plan_.kernel.launch != TILEPOST_LAUNCH_CUSTOM ||
           is_there(reinterpret_cast<const void*>(plan_.kernel.launcher), "launcher");
  }

  // Whether kernel.block is all 0, or has as many threads as a CTA.
  bool block() {
    const tilepost_kernel_t& kernel = plan_.kernel;
    if (kernel.block[0] == 0) return true;
    int64_t threads = 1;
    for (const int32_t extent : kernel.block) {
      if (!in_range("kernel.block", extent, 1, kernel.threads)) return false;
      threads *= extent;
    }
    return expect(threads == kernel.threads, "threads of kernel.block", threads,
                  std::to_string(kernel.threads) + ", kernel.threads");
  }

  bool ranks(int world) {
    if (!in_range("ranks", plan_.ranks, 1, limits_.most_ranks)) return false;
    if (row().communicates() && plan_.ranks != world) {
      result_ =
          fail(TILEPOST_INVALID_ARGUMENT, "'%s' was planned for %d ranks, the communicator has %d",
               name_, plan_.ranks, world);
      return false;
    }
    const int shares = row().has_shares(plan_.access) ? plan_.ranks : 1;
    return expect(map_.ranks == shares, "number of shares", map_.ranks, std::to_string(shares));
  }

  // Whether rows_sent fits m, which is the number of routed rows that arrive, or a bound on it.
  bool rows_sent() {
    const int64_t sent = plan_.rows_sent;
    if (!row().input_is_routed())
      return expect(sent == 0, "rows_sent", sent, "0 where no rows of A are routed");
    if (!positive("rows_sent", sent)) return false;
    if (is_routed(plan_)) return in_range("m", map_.m, 1, plan_.ranks * sent);
    const int64_t received = (sent + plan_.ranks - 1) / plan_.ranks * plan_.ranks;
    return expect(map_.m == received, "m", map_.m,
                  std::to_string(received) + ", an equal part of the " + std::to_string(sent) +
                      " rows of every rank");
  }

  bool transport() {
    const bool none = plan_.transport == TILEPOST_TRANSPORT_NONE;
    return expect(none || row().communicates(), "transport", plan_.transport,
                  "none (0) where ranks do not communicate") &&
           expect(plan_.transport == TILEPOST_TRANSPORT_HOST ||
                      plan_.access == access_of(plan_.transport),
                  "access", plan_.access,
                  std::to_string(access_of(plan_.transport)) + " with transport " +
                      std::to_string(plan_.transport)) &&
           expect(plan_.transport != TILEPOST_TRANSPORT_NCCL_SYMMETRIC ||
                      fits_windows(row(), is_routed(plan_)),
                  "transport", plan_.transport,
                  "none that sends out of windows where routed rows are in the caller's memory") &&
           expect(moves_scales_as_it_may(plan_), "transport", plan_.transport,
                  "one that moves scales of blocks, in rows, with rows of A") &&
           expect(!none || map_.num_groups == 1, "number of groups", map_.num_groups,
                  "1 where nothing overlaps");
  }

  bool layout() {
    return expect(map_.layout == TILEPOST_PANEL || (row().may_tile() && !shares_memory()), "layout",
                  map_.layout,
                  "panel (0) where rows of A arrive or ranks touch each other's memory");
  }

  // Whether the division of the schedule into groups (plan.h) fits the other fields.
  bool division() {
    return division_fits() && stagger() &&
           expect(map_.round_robin == (takes_turns() ? 1 : 0), "round_robin", map_.round_robin,
                  "1 where groups are arrivals of copies, 0 elsewhere");
  }

  bool divided(tilepost_division_t one, tilepost_division_t other, const char* expected) {
    return expect(map_.division == one || map_.division == other, "division", map_.division,
                  expected);
  }
  bool division_fits() {
    if (row().moves_input())
      return divided(TILEPOST_DIVISION_ARRIVALS,
                     shares_memory() ? TILEPOST_DIVISION_ARRIVALS : TILEPOST_DIVISION_ROWS,
                     "arrivals (3) where rows of A come in groups, or rows (0) where they come "
                     "as messages before the GEMM");
    if (!row().has_shares(plan_.access))
      return divided(TILEPOST_DIVISION_ROWS, TILEPOST_DIVISION_ROWS,
                     "rows (0) where ranks have no shares");
    if (map_.layout == TILEPOST_TILE)
      return divided(TILEPOST_DIVISION_COLUMNS, TILEPOST_DIVISION_COLUMNS,
                     "columns (2) where tiles are stored in slots and divided among ranks");
    if (!shares_memory())
      return divided(TILEPOST_DIVISION_ROWS, TILEPOST_DIVISION_SHARES,
                     "rows (0) or shares (1) where row-major products are divided among ranks");
    if (plan_.access == TILEPOST_ACCESS_TILES)
      return divided(TILEPOST_DIVISION_ROWS, TILEPOST_DIVISION_ROWS,
                     "rows (0) where kernels exchange tiles");
    if (row().routes() && plan_.routing == TILEPOST_ROUTING_ROWS)
      return divided(TILEPOST_DIVISION_ROWS, TILEPOST_DIVISION_ROWS,
                     "rows (0) where every row has a rank of its own");
    return divided(TILEPOST_DIVISION_SHARES, TILEPOST_DIVISION_SHARES,
                   "shares (1) where ranks touch each other's memory");
  }
  bool takes_turns() const {
    return map_.division == TILEPOST_DIVISION_ARRIVALS && plan_.access == TILEPOST_ACCESS_READ;
  }
  bool stagger() {
    return expect(
        map_.stagger == 0 || (map_.stagger > 0 && map_.division == TILEPOST_DIVISION_SHARES),
        "stagger", map_.stagger, "0, or more where groups are parts of shares");
  }

  // Whether the consumer has something to do, and whole rows to do it with.
  bool consumer() {
    if (plan_.consumer == TILEPOST_CONSUMER_NONE) return true;
    if (plan_.consumer == TILEPOST_CONSUMER_UNPERMUTE)
      return expect(map_.layout == TILEPOST_TILE, "consumer", plan_.consumer,
                    "no unpermute (1) but for the tile layout");
    if (plan_.consumer == TILEPOST_CONSUMER_QUANTISE) return true;  // types() has looked
    return expect(row().may_normalise(), "consumer", plan_.consumer,
                  "no norm but of a product or a sum: not of rows that are routed, nor where rows "
                  "of A are");
  }

  // Whether elements that a GPU's consumers read, or its helper warps add up, have 16 bits.
  bool elements() {
    const bool exchanged = plan_.access == TILEPOST_ACCESS_TILES && !row().moves_input();
    const bool added = row().sums && moves_inside(plan_);
    const bool read = plan_.consumer != TILEPOST_CONSUMER_NONE || exchanged || added;
    return expect(on_host() || !read || row_of(plan_.output).is_half(), "output type", plan_.output,
                  "one of 16 bits where a consumer, helper warps or other ranks' kernels read it");
  }

  // Whether the target's tables have room for the ranks that share memory.
  bool sharing() {
    if (!shares_memory()) return messages();
    return in_range("ranks", plan_.ranks, limits_.fewest_peers, limits_.most_peers) &&
           expect(plan_.comm_lanes <= limits_.most_lanes, "comm_lanes", plan_.comm_lanes,
                  "at most " + std::to_string(limits_.most_lanes) +
                      " where ranks touch each other's memory") &&
           expect(map_.num_groups <= limits_.most_groups, "number of groups", map_.num_groups,
                  "at most " + std::to_string(limits_.most_groups) +
                      " where ranks touch each other's memory") &&
           stores_by_owner();
  }

  // Whether the bound on NCCL's CTAs is enough for its lanes. NCCL must find enough free SMs beside
  // a GEMM that may wait for it. Without a bound NCCL takes more SMs than are free.
  bool messages() {
    const int least = std::max(1, plan_.comm_lanes);
    return expect(
        on_host() || plan_.transport == TILEPOST_TRANSPORT_NONE || plan_.comm_ctas >= least,
        "comm_ctas", plan_.comm_ctas,
        std::to_string(least) + " or more, one for each lane of messages");
  }

  // Whether kernels may store into the memory of the ranks that own the rows.
  bool stores_by_owner() {
    if (!writes()) return true;
    return expect(!is_routed(plan_), "routing", plan_.routing,
                  "even (0) where kernels store into other ranks' memory") &&
           expect(plan_.pace >= 0, "pace", plan_.pace, "0 or more clock cycles") &&
           expect(on_host() || plan_.kernel.launch == TILEPOST_LAUNCH_TMA ||
                      plan_.kernel.launch == TILEPOST_LAUNCH_CUSTOM,
                  "kernel.launch", plan_.kernel.launch,
                  "tensor maps (0), or a launcher (3), where kernels store into other ranks' "
                  "memory");
  }

  // Whether kernels may exchange tiles or rows of A. Flags and tables have room for
  // TILEPOST_MOST_EXCHANGING ranks, and helper warps move 16 bytes at a time.
  bool shots() {
    const bool tiles = plan_.access == TILEPOST_ACCESS_TILES;
    if (!tiles)
      return expect(plan_.shots == 0, "shots", plan_.shots, "0 without exchange of tiles");
    const bool rows = row().moves_input();
    const int64_t row_bytes = plan_.k * element_bytes(plan_.input);
    return in_range("shots", plan_.shots, TILEPOST_ONE_SHOT,
                    rows ? TILEPOST_ONE_SHOT : TILEPOST_ONE_SHOT_LINES) &&
           expect(
               may_exchange_tiles(row(), plan_.routing), "pattern", plan_.pattern,
               "one whose product, or rows of A, move to ranks that the plan says, where kernels "
               "exchange tiles") &&
           expect(row().product_spreads() || plan_.shots != TILEPOST_TWO_SHOT, "shots", plan_.shots,
                  "one shot (1, 3) where a row ends with one rank") &&
           in_range("ranks", plan_.ranks, 2, TILEPOST_MOST_EXCHANGING) &&
           expect(map_.num_groups == (rows ? 2 : 1), "number of groups", map_.num_groups,
                  rows ? "2, own rows and others, where kernels exchange rows of A"
                       : "1 where kernels exchange tiles") &&
           expect(on_host() || row_bytes % 16 == 0, "row of A in bytes", row_bytes,
                  "a multiple of 16 where kernels exchange tiles") &&
           expect(on_host() || plan_.kernel.launch == TILEPOST_LAUNCH_TMA, "kernel.launch",
                  plan_.kernel.launch, "tensor maps (0) where kernels exchange tiles") &&
           positive("kernel.box_c.rows", plan_.kernel.box_c.rows) &&
           expect(!on_host() || map_.tile_m % 8 == 0, "tile_m", map_.tile_m,
                  "a multiple of 8 where kernels exchange tiles") &&
           expect(on_host() || map_.n % 8 == 0, "n", map_.n,
                  "a multiple of 8 where kernels exchange tiles");
  }

  // Whether `pushes` fits. In shared memory rows of A are always pushed, by tasks or copy engines.
  // Results are pushed where kernels store the parts, and on a GPU only by the kernel itself.
  bool pushes() {
    if (row().moves_input())
      return expect(plan_.pushes == (shares_memory() ? 1 : 0), "pushes", plan_.pushes,
                    "1 where rows of A are copied into other ranks' memory, 0 elsewhere") &&
             expect(on_host() || !writes() || row().dispatches() || plan_.task_parts > 0,
                    "task_parts", plan_.task_parts, "1 where helper warps push rows of A");
    const bool sums = row().product_spreads() && writes();
    if (plan_.access == TILEPOST_ACCESS_TILES)
      return expect(plan_.pushes == (plan_.shots == TILEPOST_TWO_SHOT ? 1 : 0), "pushes",
                    plan_.pushes, "1 where sums go to all ranks in a second shot, 0 elsewhere");
    if (on_host() && sums) return in_range("pushes", plan_.pushes, 0, 1);
    const bool pushes = plan_.fused ? pushes_when_fused(row()) : sums && moves_inside(plan_);
    return expect(plan_.pushes == (pushes ? 1 : 0), "pushes", plan_.pushes,
                  "1 where the kernel stores what others need in their memory, 0 elsewhere");
  }

  // Whether `sum` and `fused` fit. A kernel adds to memory in every run, but only slots are zeroed.
  bool sums() {
    return expect(!writes() || plan_.sum != TILEPOST_SUM_ADDED || !paths_of(plan_).has(false),
                  "sum", plan_.sum, "staged (0) where some runs do not overlap") &&
           expect(fuses_as_it_may(plan_), "fused", plan_.fused, "one that all else allows");
  }

  // Whether helper warps can carry out the plan's tasks. Parts lie side by side in slots. Bulk
  // copies move rows of parts or of A in multiples of 16 bytes (PTX ISA, cp.async.bulk). Kernels
  // with tasks use tensor maps, and two of A if they read this rank's own rows elsewhere.
  bool tasks() {
    if (plan_.task_parts == 0 || on_host()) return true;
    const tilepost_kernel_t& kernel = plan_.kernel;
    const bool input = row().moves_input();
    const int parts = row().sums ? plan_.ranks : 1;
    const int64_t bytes =
        input ? plan_.k * element_bytes(plan_.input) : map_.n * element_bytes(plan_.output);
    return expect(plan_.task_parts == parts, "task_parts", plan_.task_parts,
                  "0, or " + std::to_string(parts)) &&
           expect(input ? shares_memory() : writes(), "access", plan_.access,
                  "one that leaves helper warps something to do: write (2), or of rows of A read "
                  "(1)") &&
           expect(plan_.sum == TILEPOST_SUM_STAGED, "sum", plan_.sum,
                  "staged (0) where helper warps add up") &&
           expect(kernel.launch == TILEPOST_LAUNCH_TMA, "kernel.launch", kernel.launch,
                  "tensor maps (0) where the kernel has tasks") &&
           expect(kernel.helper_bytes <= kernel.shared_bytes, "kernel.helper_bytes",
                  kernel.helper_bytes,
                  "at most the kernel's " + std::to_string(kernel.shared_bytes) +
                      " bytes of shared memory") &&
           expect(task_chunk_bytes(kernel.helper_bytes, plan_.task_parts) >= kTaskUnit,
                  "kernel.helper_bytes", kernel.helper_bytes,
                  "room for " + std::to_string(kTaskUnit) + " bytes of " + std::to_string(parts) +
                      " parts") &&
           expect(bytes % kTaskUnit == 0, "row of tasks in bytes", bytes,
                  "a multiple of " + std::to_string(kTaskUnit));
  }

  // Whether gaps fit. Only tasks and the epilogue remove gaps, and bulk copies move rows.
  bool row_gap() {
    const bool may = writes() && path_of(plan_, true).kernel_does_all && !row().moves_input();
    const int64_t bytes = plan_.row_gap * element_bytes(plan_.output);
    return in_range("row_gap", plan_.row_gap, 0, may && !on_host() ? kMostExtent : 0) &&
           expect(bytes % kTaskUnit == 0, "row_gap in bytes", bytes,
                  "a multiple of " + std::to_string(kTaskUnit));
  }

  // Whether `reads_own` fits. A kernel that reads A in two places has two tensor maps and waits for
  // rows that arrive. Where tasks push or copy own rows, it reads these where the caller has them.
  bool reads_own() {
    if (!in_range("reads_own", plan_.reads_own, 0, 1)) return false;
    const bool arrives = paths_of(plan_).planned.waits == Waits::tiles;
    if (plan_.reads_own == 0)
      return expect(plan_.task_parts == 0 || !row().moves_input() || on_host(), "reads_own",
                    plan_.reads_own, "1 where helper warps move rows of A");
    return expect(arrives && shares_memory() && plan_.access != TILEPOST_ACCESS_TILES, "reads_own",
                  plan_.reads_own,
                  "0 where no rows of A are stored into other ranks' memory while the kernel runs, "
                  "or kernels exchange them") &&
           expect(plan_.task_parts > 0 || !row().input_is_routed(), "reads_own", plan_.reads_own,
                  "0 where rows of A are routed and no helper warps move them") &&
           expect(plan_.kernel.launch == TILEPOST_LAUNCH_TMA, "kernel.launch", plan_.kernel.launch,
                  "tensor maps (0) where the kernel reads rows of A in two places");
  }

  // Whether `whole_run` fits. A kernel that is a whole run does everything with what other ranks
  // store, and has room for TILEPOST_MOST_EXCHANGING ranks' addresses.
  bool whole_run() {
    if (!in_range("whole_run", plan_.whole_run, 0, 1)) return false;
    if (plan_.whole_run == 0) return true;
    return expect(writes(), "access", plan_.access,
                  "one by which kernels store into other ranks' memory (2) where they meet by "
                  "themselves") &&
           expect(moves_inside(plan_) && !on_host(), "task_parts", plan_.task_parts,
                  "1 or more where kernels meet by themselves, on a GPU") &&
           in_range("ranks", plan_.ranks, 2, TILEPOST_MOST_EXCHANGING);
  }

  // Whether `neighbours` fits. Where collectives of other communicators may run beside the GEMM,
  // the GEMM waits for no other rank, and no kernel pushes rows of A.
  bool neighbours() {
    if (!in_range("neighbours", plan_.neighbours, 0, 1)) return false;
    const bool waits = plan_.task_parts > 0 || paths_of(plan_).any(&RunPath::waits_on_sms);
    const bool pushed = row().moves_input() && writes();
    return expect(plan_.neighbours == 0 || !(waits || pushed), "neighbours", plan_.neighbours,
                  "0 where the GEMM waits for other ranks, with tasks or for rows of A that they "
                  "push");
  }

  bool groups() {
    if (!is_there(map_.cuts, "cuts") || !is_there(plan_.groups, "groups")) return false;
    if (cuts_are_valid(map_)) return true;
    result_ = fail(TILEPOST_INVALID_ARGUMENT,
                   "'%s': the plan's %d group cuts do not increase up to the end of the schedule "
                   "on whole clusters; regenerate it",
                   name_, map_.num_groups);
    return false;
  }

  // Checks that the schedule is the one that the planner verified, tile by tile and group by group.
  // So no table of a plan that was tampered with leads out of bounds.
  tilepost_result_t schedule() const {
    const TileMap built = build_tile_map(map_);
    const uint64_t hash = hash_tile_map(built);
    if (hash != plan_.map_hash)
      return fail(TILEPOST_INVALID_ARGUMENT,
                  "'%s': the tile map hashes to %016" PRIx64 ", the plan says %016" PRIx64
                  "; regenerate it with this version",
                  name_, hash, plan_.map_hash);
    for (size_t g = 0; g < built.groups.size(); ++g) {
      const tilepost_group_t& group = built.groups[g];
      const tilepost_group_t& stated = plan_.groups[g];
      if (group.first_tile != stated.first_tile || group.num_tiles != stated.num_tiles ||
          group.target != stated.target || group.offset != stated.offset ||
          group.count != stated.count)
        return fail(TILEPOST_INVALID_ARGUMENT,
                    "'%s': group %zu of the plan is not that of its tile map; regenerate it", name_,
                    g);
    }
    return check_tokens_of_plan(name_, plan_);
  }

  const char* const name_;
  const tilepost_plan_t& plan_;
  const tilepost_map_t& map_;
  const PlanLimits& limits_;
  tilepost_result_t result_ = TILEPOST_OK;
};

}  // namespace

tilepost_result_t check_plan(const tilepost_program_t& program, const tilepost_plan_t& plan,
                             const PlanLimits& limits, int world) {
  return PlanRules(program.name, plan, limits).check(world);
}

}  // namespace tilepost
