// A plan that breaks a rule is refused by that rule. Each case changes one thing.
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/map/enumerators.h"
#include "tests/catch.h"
#include "tests/unit/map/made_plan.h"

namespace tilepost::test {
namespace {

// Plans that rules treat differently.
enum Base {
  kMessages,  // AllReduce with messages
  kTiles,     // AllReduce with messages, tile layout
  kSums,      // ReduceScatter: kernels store parts, tasks add them up
  // AllReduce: kernels meet by themselves and store parts, tasks add them up and push the sums.
  kPushedSums,
  kRoutes,         // All-to-All: kernels store rows, tasks move them
  kCopiedRows,     // AllGather by copy engines: tasks copy own rows
  kPushedRows,     // AllGather: tasks push rows
  kRoutedRows,     // routed rows of A, by copy engines
  kExchange,       // AllReduce: kernels exchange tiles in one shot
  kTwoShots,       // AllReduce: kernels exchange tiles in two shots
  kShares,         // ReduceScatter: kernels exchange tiles
  kTaken,          // All-to-All: kernels exchange tiles
  kExchangedRows,  // AllGather: kernels exchange rows
  kAlone,          // no communication
  kBases
};

std::unique_ptr<Made> make(Base base) {
  std::unique_ptr<Made> made;
  const auto set = [&](auto... arguments) { made = std::make_unique<Made>(arguments...); };
  using Cuts = std::vector<int32_t>;
  switch (base) {
    case kMessages:
      set(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL, TILEPOST_DIVISION_ROWS, Cuts{4, 16});
      break;
    case kTiles:
      set(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_NCCL, TILEPOST_DIVISION_ROWS, Cuts{4, 48},
          TILEPOST_TILE);
      break;
    case kSums:
      set(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_TRANSPORT_PEER, TILEPOST_DIVISION_SHARES,
          Cuts{2, 8});
      made->give_tasks(2);
      break;
    case kPushedSums:
      set(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER, TILEPOST_DIVISION_SHARES, Cuts{2, 8});
      made->give_tasks(2);
      made->plan.pushes = 1;
      made->plan.whole_run = 1;
      break;
    case kRoutes:
      set(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_TRANSPORT_PEER, TILEPOST_DIVISION_SHARES, Cuts{2, 8});
      made->give_tasks(1);
      break;
    case kCopiedRows:
      set(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_COPY_ENGINE, TILEPOST_DIVISION_ARRIVALS,
          Cuts{0, 2, 8});
      made->give_tasks(1);
      break;
    case kPushedRows:
      set(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_PEER, TILEPOST_DIVISION_ARRIVALS,
          Cuts{0, 2, 8});
      made->give_tasks(1);
      break;
    case kRoutedRows:
      set(TILEPOST_ALL_TO_ALL_GEMM, TILEPOST_TRANSPORT_COPY_ENGINE, TILEPOST_DIVISION_ARRIVALS,
          Cuts{0, 2, 8});
      made->plan.routing = TILEPOST_ROUTING_SPLITS;
      made->plan.rows_sent = made->plan.map.m;
      made->give_tasks(1);
      break;
    case kExchange:
    case kTwoShots:
      set(TILEPOST_GEMM_ALL_REDUCE, TILEPOST_TRANSPORT_PEER_TILES, TILEPOST_DIVISION_ROWS,
          Cuts{16});
      made->plan.shots = base == kTwoShots ? TILEPOST_TWO_SHOT : TILEPOST_ONE_SHOT;
      made->plan.pushes = base == kTwoShots ? 1 : 0;
      made->plan.kernel.box_c.rows = 4;
      break;
    case kShares:
    case kTaken:
      set(base == kShares ? TILEPOST_GEMM_REDUCE_SCATTER : TILEPOST_GEMM_ALL_TO_ALL,
          TILEPOST_TRANSPORT_PEER_TILES, TILEPOST_DIVISION_ROWS, Cuts{16});
      made->plan.shots = base == kShares ? TILEPOST_ONE_SHOT : TILEPOST_ONE_SHOT_LINES;
      made->plan.kernel.box_c.rows = 4;
      break;
    case kExchangedRows:
      set(TILEPOST_ALL_GATHER_GEMM, TILEPOST_TRANSPORT_PEER_TILES, TILEPOST_DIVISION_ARRIVALS,
          Cuts{0, 8});
      made->plan.shots = TILEPOST_ONE_SHOT;
      made->plan.kernel.box_c.rows = 4;
      break;
    case kAlone:
    case kBases:
      set(TILEPOST_GEMM, TILEPOST_TRANSPORT_NONE, TILEPOST_DIVISION_ROWS, Cuts{16});
      break;
  }
  made->finish();
  return made;
}

TEST_CASE("plans that break no rule are taken") {
  for (int base = 0; base < kBases; ++base) {
    INFO("base " << base);
    CHECK(make(static_cast<Base>(base))->refusal() == "");
  }
}

constexpr const char* kHoldsSms =
    "neighbours is 1, expected 0 where the GEMM waits for other ranks, with tasks or for rows of A "
    "that they push";

TEST_CASE("every rule of a plan names what it found and what it expected") {
  const struct {
    Base base;
    const char* message;
    std::function<void(tilepost_plan_t&)> change;
  } cases[] = {
      {kMessages, "output type is 2, expected one of 16 or 32 bits; e4m3, 2, is of inputs only",
       [](auto& plan) { plan.output = TILEPOST_E4M3; }},
      {kMessages, "m is 0, expected 1 to 2147483647", [](auto& plan) { plan.map.m = 0; }},
      {kMessages, "n is -1, expected 1 to", [](auto& plan) { plan.map.n = -1; }},
      {kMessages, "k is 0, expected 1 to", [](auto& plan) { plan.k = 0; }},
      {kMessages, "tile_m is 0, expected 1 to", [](auto& plan) { plan.map.tile_m = 0; }},
      {kMessages, "tile_n is 0, expected 1 to", [](auto& plan) { plan.map.tile_n = 0; }},
      {kMessages, "cluster is 0, expected 1 to", [](auto& plan) { plan.map.cluster = 0; }},
      {kMessages, "band is 0, expected 1 to", [](auto& plan) { plan.map.band = 0; }},
      {kMessages, "signals_per_tile is 0, expected 1 to",
       [](auto& plan) { plan.map.signals_per_tile = 0; }},
      {kMessages, "num_groups is 0, expected 1 to", [](auto& plan) { plan.map.num_groups = 0; }},
      {kMessages, "expected fewer than 2^31 tiles",
       [](auto& plan) { plan.map.m = plan.map.n = INT32_MAX; }},
      {kMessages, "the plan has no kernel", [](auto& plan) { plan.kernel.function = nullptr; }},
      {kMessages, "the plan has no launcher",
       [](auto& plan) {
         plan.kernel.launch = TILEPOST_LAUNCH_CUSTOM;
         plan.kernel.launcher = nullptr;
       }},
      {kMessages, "kernel.num_user is 17, expected 0 to 16",
       [](auto& plan) { plan.kernel.num_user = 17; }},
      {kMessages, "the plan has no user data's names",
       [](auto& plan) { plan.kernel.num_user = 1; }},
      {kMessages, "expected a launcher (3), which hands user data on",
       [](auto& plan) {
         static constexpr const char* kName = "user.scales";
         plan.kernel.num_user = 1;
         plan.kernel.user = &kName;
       }},
      {kMessages, "the plan has no host kernel",
       [](auto& plan) {
         plan.kernel.launch = TILEPOST_LAUNCH_HOST;
         plan.kernel.host_function = nullptr;
       }},
      {kMessages, "kernel.cluster is 0, expected 1 to",
       [](auto& plan) { plan.kernel.cluster = 0; }},
      {kMessages, "kernel.ctas_per_sm is 0, expected 1 to",
       [](auto& plan) { plan.kernel.ctas_per_sm = 0; }},
      {kMessages, "kernel.threads is 0, expected 1 to",
       [](auto& plan) { plan.kernel.threads = 0; }},
      {kMessages, "threads of kernel.block is 256, expected 384, kernel.threads",
       [](auto& plan) {
         std::ranges::copy(std::array{32, 8, 1}, plan.kernel.block);
       }},
      {kMessages, "kernel.block is -1, expected 1 to 384",
       [](auto& plan) {
         std::ranges::copy(std::array{384, -1, -1}, plan.kernel.block);
       }},
      {kMessages, "kernel.tile_per_cta is 2, expected 0 to 1",
       [](auto& plan) { plan.kernel.tile_per_cta = 2; }},
      {kMessages, "cluster is 2, expected 1 where the grid has a CTA for every tile",
       [](auto& plan) { plan.kernel.tile_per_cta = 1; }},
      {kMessages, "gemm_ctas is 0, expected 1 to", [](auto& plan) { plan.gemm_ctas = 0; }},
      {kMessages, "gemm_ctas is 7, expected whole clusters of 2 tiles",
       [](auto& plan) { plan.gemm_ctas = 7; }},
      {kMessages, "gemm_ctas is 8, expected whole clusters of 3 CTAs",
       [](auto& plan) { plan.kernel.cluster = 3; }},
      {kMessages, "ranks is 9, expected 1 to 8", [](auto& plan) { plan.ranks = 9; }},
      {kMessages, "planned for 3 ranks, the communicator has 2",
       [](auto& plan) { plan.ranks = 3; }},
      {kMessages, "number of shares is 2, expected 1", [](auto& plan) { plan.map.ranks = 2; }},
      {kSums, "number of shares is 1, expected 2", [](auto& plan) { plan.map.ranks = 1; }},
      {kMessages, "rows_sent is 5, expected 0 where no rows of A are routed",
       [](auto& plan) { plan.rows_sent = 5; }},
      {kRoutedRows, "rows_sent is 0, expected 1 to", [](auto& plan) { plan.rows_sent = 0; }},
      {kRoutedRows, "m is 64, expected 1 to 62", [](auto& plan) { plan.rows_sent = 31; }},
      {kRoutedRows, "m is 64, expected 62, an equal part of the 61 rows of every rank",
       [](auto& plan) {
         plan.routing = TILEPOST_ROUTING_EVEN;
         plan.rows_sent = 61;
       }},
      {kRoutedRows, "transport is 3, expected none that sends out of windows",
       [](auto& plan) {
         plan.transport = TILEPOST_TRANSPORT_NCCL_SYMMETRIC;
         plan.access = TILEPOST_ACCESS_MESSAGES;
       }},
      {kAlone, "transport is 1, expected none (0) where ranks do not communicate",
       [](auto& plan) { plan.transport = TILEPOST_TRANSPORT_NCCL; }},
      {kSums, "access is 1, expected 2 with transport 5",
       [](auto& plan) { plan.access = TILEPOST_ACCESS_READ; }},
      {kMessages, "number of groups is 2, expected 1 where nothing overlaps",
       [](auto& plan) { plan.transport = TILEPOST_TRANSPORT_NONE; }},
      {kSums, "layout is 1, expected panel (0)",
       [](auto& plan) { plan.map.layout = TILEPOST_TILE; }},
      {kCopiedRows, "layout is 1, expected panel (0)",
       [](auto& plan) { plan.map.layout = TILEPOST_TILE; }},
      {kCopiedRows, "division is 0, expected arrivals (3)",
       [](auto& plan) { plan.map.division = TILEPOST_DIVISION_ROWS; }},
      {kMessages, "division is 1, expected rows (0) where ranks have no shares",
       [](auto& plan) { plan.map.division = TILEPOST_DIVISION_SHARES; }},
      {kTiles, "division is 1, expected rows (0) where ranks have no shares",
       [](auto& plan) { plan.map.division = TILEPOST_DIVISION_SHARES; }},
      {kSums, "division is 0, expected shares (1) where ranks touch each other's memory",
       [](auto& plan) { plan.map.division = TILEPOST_DIVISION_ROWS; }},
      {kRoutes, "division is 1, expected rows (0) where every row has a rank of its own",
       [](auto& plan) { plan.routing = TILEPOST_ROUTING_ROWS; }},
      {kSums, "division is 2, expected rows (0) or shares (1)",
       [](auto& plan) {
         plan.transport = TILEPOST_TRANSPORT_NCCL;
         plan.access = TILEPOST_ACCESS_MESSAGES;
         plan.map.division = TILEPOST_DIVISION_COLUMNS;
       }},
      {kSums, "division is 1, expected columns (2)",
       [](auto& plan) {
         plan.transport = TILEPOST_TRANSPORT_NCCL;
         plan.access = TILEPOST_ACCESS_MESSAGES;
         plan.map.layout = TILEPOST_TILE;
       }},
      {kSums, "stagger is -1, expected 0, or more where groups are parts of shares",
       [](auto& plan) { plan.map.stagger = -1; }},
      {kMessages, "stagger is 3, expected 0, or more", [](auto& plan) { plan.map.stagger = 3; }},
      {kCopiedRows, "round_robin is 0, expected 1 where groups are arrivals of copies",
       [](auto& plan) { plan.map.round_robin = 0; }},
      {kMessages, "consumer is 1, expected no unpermute",
       [](auto& plan) { plan.consumer = TILEPOST_CONSUMER_UNPERMUTE; }},
      {kRoutes, "consumer is 2, expected no norm",
       [](auto& plan) { plan.consumer = TILEPOST_CONSUMER_RMS_NORM; }},
      {kPushedRows, "consumer is 3, expected no norm",
       [](auto& plan) { plan.consumer = TILEPOST_CONSUMER_RESIDUAL_RMS_NORM; }},
      {kSums, "comm_lanes is 3, expected at most 2", [](auto& plan) { plan.comm_lanes = 3; }},
      {kSums, "number of groups is 7, expected at most 6",
       [](auto& plan) { plan.map.num_groups = 7; }},
      {kRoutes, "routing is 1, expected even (0)",
       [](auto& plan) { plan.routing = TILEPOST_ROUTING_SPLITS; }},
      {kSums, "pace is -1, expected 0 or more", [](auto& plan) { plan.pace = -1; }},
      {kSums, "kernel.launch is 1, expected tensor maps (0), or a launcher (3), where",
       [](auto& plan) { plan.kernel.launch = TILEPOST_LAUNCH_POINTERS; }},
      {kCopiedRows, "pushes is 0, expected 1 where rows of A are copied",
       [](auto& plan) { plan.pushes = 0; }},
      {kPushedRows, "task_parts is 0, expected 1 where helper warps push",
       [](auto& plan) { plan.task_parts = 0; }},
      {kSums,
       "pushes is 1, expected 1 where the kernel stores what others need in their memory, 0 "
       "elsewhere",
       [](auto& plan) { plan.pushes = 1; }},
      {kPushedSums, "pushes is 1, expected 1 where the kernel stores what others need",
       [](auto& plan) { plan.task_parts = 0; }},
      {kSums, "sum is 1, expected staged (0) where some runs do not overlap",
       [](auto& plan) {
         plan.sum = TILEPOST_SUM_ADDED;
         plan.any_m = 1;
         plan.model.sequence_ctas = 132;
       }},
      {kSums, "task_parts is 1, expected 0, or 2", [](auto& plan) { plan.task_parts = 1; }},
      {kSums, "task_parts is -1, expected 0, or 2", [](auto& plan) { plan.task_parts = -1; }},
      {kCopiedRows, "task_parts is 2, expected 0, or 1", [](auto& plan) { plan.task_parts = 2; }},
      {kSums, "access is 1, expected one that leaves helper warps something to do",
       [](auto& plan) {
         plan.transport = TILEPOST_TRANSPORT_COPY_ENGINE;
         plan.access = TILEPOST_ACCESS_READ;
       }},
      {kSums, "sum is 1, expected staged (0) where helper warps add up",
       [](auto& plan) { plan.sum = TILEPOST_SUM_ADDED; }},
      {kCopiedRows, "kernel.launch is 1, expected tensor maps (0) where the kernel has tasks",
       [](auto& plan) { plan.kernel.launch = TILEPOST_LAUNCH_POINTERS; }},
      {kSums, "kernel.helper_bytes is 250000, expected at most the kernel's 200000 bytes",
       [](auto& plan) { plan.kernel.helper_bytes = 250000; }},
      {kSums, "kernel.helper_bytes is 0, expected room for 16 bytes of 2 parts",
       [](auto& plan) { plan.kernel.helper_bytes = 0; }},
      {kSums, "row of tasks in bytes is 40, expected a multiple of 16",
       [](auto& plan) { plan.map.n = 20; }},
      {kCopiedRows, "row of tasks in bytes is 24, expected a multiple of 16",
       [](auto& plan) { plan.k = 12; }},
      {kSums, "row_gap in bytes is 8, expected a multiple of 16",
       [](auto& plan) { plan.row_gap = 4; }},
      {kSums, "row_gap is -8, expected 0 to", [](auto& plan) { plan.row_gap = -8; }},
      {kCopiedRows, "row_gap is 8, expected 0 to 0", [](auto& plan) { plan.row_gap = 8; }},
      {kMessages, "row_gap is 8, expected 0 to 0", [](auto& plan) { plan.row_gap = 8; }},
      {kCopiedRows, "reads_own is 2, expected 0 to 1", [](auto& plan) { plan.reads_own = 2; }},
      {kPushedRows, "reads_own is 0, expected 1 where helper warps move rows of A",
       [](auto& plan) { plan.reads_own = 0; }},
      {kSums, "reads_own is 1, expected 0 where no rows of A are stored",
       [](auto& plan) { plan.reads_own = 1; }},
      {kExchangedRows, "reads_own is 1, expected 0 where no rows of A are stored",
       [](auto& plan) { plan.reads_own = 1; }},
      {kCopiedRows, "kernel.launch is 1, expected tensor maps (0) where the kernel reads rows of A",
       [](auto& plan) {
         plan.task_parts = 0;
         plan.kernel.launch = TILEPOST_LAUNCH_POINTERS;
       }},
      {kRoutedRows, "reads_own is 1, expected 0 where rows of A are routed and no helper warps",
       [](auto& plan) { plan.task_parts = 0; }},
      {kSums, "whole_run is 2, expected 0 to 1", [](auto& plan) { plan.whole_run = 2; }},
      {kSums, "whole_run is -1, expected 0 to 1", [](auto& plan) { plan.whole_run = -1; }},
      {kMessages, "access is 0, expected one by which kernels store into other ranks' memory",
       [](auto& plan) { plan.whole_run = 1; }},
      {kExchange, "access is 3, expected one by which kernels store into other ranks' memory",
       [](auto& plan) { plan.whole_run = 1; }},
      {kSums, "task_parts is 0, expected 1 or more where kernels meet by themselves",
       [](auto& plan) {
         plan.whole_run = 1;
         plan.task_parts = 0;
       }},
      {kSums, "shots is 1, expected 0 without exchange of tiles",
       [](auto& plan) { plan.shots = TILEPOST_ONE_SHOT; }},
      {kExchange, "shots is 0, expected 1 to 3",
       [](auto& plan) { plan.shots = TILEPOST_SHOTS_NONE; }},
      {kTaken, "expected one whose product, or rows of A, move to ranks that the plan says",
       [](auto& plan) { plan.routing = TILEPOST_ROUTING_SPLITS; }},
      {kExchangedRows, "shots is 2, expected 1 to 1",
       [](auto& plan) { plan.shots = TILEPOST_TWO_SHOT; }},
      {kExchangedRows, "number of groups is 1, expected 2, own rows and others",
       [](auto& plan) { plan.map.num_groups = 1; }},
      {kExchangedRows, "row of A in bytes is 18, expected a multiple of 16",
       [](auto& plan) { plan.k = 9; }},
      {kExchangedRows, "pushes is 0, expected 1 where rows of A are copied",
       [](auto& plan) { plan.pushes = 0; }},
      {kExchangedRows, "division is 0, expected arrivals",
       [](auto& plan) { plan.map.division = TILEPOST_DIVISION_ROWS; }},
      {kExchange, "number of shares is 1, expected 2",
       [](auto& plan) { plan.pattern = TILEPOST_GEMM_REDUCE_SCATTER; }},
      {kShares, "number of shares is 1, expected 2", [](auto& plan) { plan.map.ranks = 1; }},
      {kShares, "division is 1, expected rows (0) where kernels exchange tiles",
       [](auto& plan) { plan.map.division = TILEPOST_DIVISION_SHARES; }},
      {kShares, "shots is 2, expected one shot (1, 3) where a row ends with one rank",
       [](auto& plan) { plan.shots = TILEPOST_TWO_SHOT; }},
      {kTaken, "shots is 2, expected one shot (1, 3) where a row ends with one rank",
       [](auto& plan) { plan.shots = TILEPOST_TWO_SHOT; }},
      {kShares, "pushes is 1, expected 1 where sums go to all ranks in a second shot",
       [](auto& plan) { plan.pushes = 1; }},
      {kExchange, "number of groups is 2, expected 1 where kernels exchange tiles",
       [](auto& plan) { plan.map.num_groups = 2; }},
      {kExchange, "kernel.launch is 1, expected tensor maps (0) where kernels exchange tiles",
       [](auto& plan) { plan.kernel.launch = TILEPOST_LAUNCH_POINTERS; }},
      {kExchange, "kernel.box_c.rows is 0, expected 1 to",
       [](auto& plan) { plan.kernel.box_c.rows = 0; }},
      {kTwoShots, "n is 20, expected a multiple of 8 where kernels exchange tiles",
       [](auto& plan) { plan.map.n = 20; }},
      {kExchange, "pushes is 1, expected 1 where sums go to all ranks in a second shot",
       [](auto& plan) { plan.pushes = 1; }},
      {kTwoShots, "pushes is 0, expected 1 where sums go to all ranks in a second shot",
       [](auto& plan) { plan.pushes = 0; }},
      {kExchange, "access is 3, expected one that leaves helper warps something to do",
       [](auto& plan) { plan.task_parts = 2; }},
      {kMessages, "neighbours is 2, expected 0 to 1", [](auto& plan) { plan.neighbours = 2; }},
      {kSums, kHoldsSms, [](auto& plan) { plan.neighbours = 1; }},
      {kPushedSums, kHoldsSms, [](auto& plan) { plan.neighbours = 1; }},
      {kRoutes, kHoldsSms, [](auto& plan) { plan.neighbours = 1; }},
      {kExchange, kHoldsSms, [](auto& plan) { plan.neighbours = 1; }},
      {kCopiedRows, kHoldsSms, [](auto& plan) { plan.neighbours = 1; }},
      {kPushedRows, kHoldsSms, [](auto& plan) { plan.neighbours = 1; }},
      {kRoutedRows, kHoldsSms, [](auto& plan) { plan.neighbours = 1; }},
      {kPushedRows, kHoldsSms,
       [](auto& plan) {
         plan.neighbours = 1;
         plan.task_parts = 0;  // on the host, threads push instead
         plan.kernel.launch = TILEPOST_LAUNCH_HOST;
         plan.kernel.host_function = [](const void*, const void*, void*, tilepost_shape_t,
                                        tilepost_epilogue_t, int, int, tilepost_view_t) {};
       }},
      {kMessages, "the plan has no cuts", [](auto& plan) { plan.map.cuts = nullptr; }},
      {kMessages, "the plan has no groups", [](auto& plan) { plan.groups = nullptr; }},
      {kMessages, "2 group cuts do not increase up to the end of the schedule",
       [](auto& plan) { plan.map.m = 128; }},
      {kMessages, "the tile map hashes to", [](auto& plan) { ++plan.map_hash; }},
  };
  for (const auto& it : cases) {
    const std::unique_ptr<Made> made = make(it.base);
    it.change(made->plan);
    INFO("base " << it.base << ": " << it.message);
    CHECK_THAT(made->refusal(), Catch::Contains(it.message) && Catch::Contains("'made'"));
  }
}

// The tables of these kernels have room for eight ranks, even if a target allows more.
TEST_CASE("kernels of two to eight ranks exchange tiles") {
  constexpr PlanLimits kMany = {"test", TILEPOST_ACCESS_TILES, 16, 1, 16, 2, 6};
  const std::unique_ptr<Made> made = make(kExchange);
  for (int ranks = 1; ranks <= 9; ++ranks) {
    made->plan.ranks = ranks;
    CAPTURE(ranks);
    const bool taken = check_plan(made->program, made->plan, kMany, ranks) == TILEPOST_OK;
    CHECK(taken == (ranks >= 2 && ranks <= TILEPOST_MOST_EXCHANGING));
    const std::string found = "ranks is " + std::to_string(ranks) + ", expected 2 to 8";
    if (!taken) CHECK_THAT(tilepost_last_error(), Catch::Contains(found));
  }
}

TEST_CASE("neighbours may run beside plans whose GEMM waits for nobody") {
  for (const Base base : {kMessages, kTiles, kAlone}) {
    const std::unique_ptr<Made> made = make(base);
    made->plan.neighbours = 1;
    CHECK(made->refusal() == "");
  }
  // Kernels add, or are launched for each group of rows that copy engines bring.
  for (const Base base : {kSums, kCopiedRows, kRoutedRows}) {
    const std::unique_ptr<Made> made = make(base);
    made->plan.task_parts = made->plan.reads_own = 0;
    made->plan.neighbours = 1;
    CHECK(made->refusal() == "");
  }
}

TEST_CASE("a group that is not that of the tile map is refused") {
  const std::unique_ptr<Made> made = make(kMessages);
  ++made->map.groups[1].target;
  CHECK_THAT(made->refusal(), Catch::Contains("group 1 of the plan"));
}

TEST_CASE("ranks that share memory are at least two, and as many as the target has tables for") {
  for (const int ranks : {1, 5}) {
    const std::unique_ptr<Made> made = make(kSums);
    made->plan.ranks = made->plan.map.ranks = made->plan.task_parts = ranks;
    CHECK(check_plan(made->program, made->plan, kLimits, ranks) == TILEPOST_INVALID_ARGUMENT);
    CHECK_THAT(tilepost_last_error(),
               Catch::Contains("ranks is " + std::to_string(ranks) + ", expected 2 to 4"));
  }
}

TEST_CASE("on the host sums are pushed without tasks") {
  const std::unique_ptr<Made> made = make(kPushedSums);
  made->plan.kernel.launch = TILEPOST_LAUNCH_HOST;
  made->plan.task_parts = made->plan.whole_run = 0;
  CHECK(made->refusal() == "");
  made->plan.pushes = 2;
  CHECK_THAT(made->refusal(), Catch::Contains("pushes is 2, expected 0 to 1"));
}

TEST_CASE("values that another version knows are unsupported") {
  const auto unknown = [](const char* words, int value, auto field) {
    const std::unique_ptr<Made> made = make(kMessages);
    std::memcpy(&field(made->plan), &value, sizeof value);  // this value is none of the type's
    CHECK_THAT(made->refusal(TILEPOST_UNSUPPORTED),
               Catch::Contains("the test target does not know " + std::string(words) + " " +
                               std::to_string(value)));
  };
  unknown(
      "pattern", kNumPatterns, [](auto& plan) -> auto& { return plan.pattern; });
  unknown(
      "routing", count_enumerators<tilepost_routing_t>(),
      [](auto& plan) -> auto& { return plan.routing; });
  unknown(
      "layout", count_enumerators<tilepost_layout_t>(),
      [](auto& plan) -> auto& { return plan.map.layout; });
  unknown(
      "division", count_enumerators<tilepost_division_t>(),
      [](auto& plan) -> auto& { return plan.map.division; });
  unknown(
      "transport", count_enumerators<tilepost_transport_t>(),
      [](auto& plan) -> auto& { return plan.transport; });
  unknown(
      "access", count_enumerators<tilepost_access_t>(),
      [](auto& plan) -> auto& { return plan.access; });
  unknown(
      "sum", count_enumerators<tilepost_sum_t>(), [](auto& plan) -> auto& { return plan.sum; });
  unknown(
      "shots", count_enumerators<tilepost_shots_t>(),
      [](auto& plan) -> auto& { return plan.shots; });
  unknown(
      "wait", count_enumerators<tilepost_wait_t>(), [](auto& plan) -> auto& { return plan.wait; });
  unknown(
      "consumer", count_enumerators<tilepost_consumer_t>(),
      [](auto& plan) -> auto& { return plan.consumer; });
  unknown(
      "operands", count_enumerators<tilepost_operands_t>(),
      [](auto& plan) -> auto& { return plan.operands; });
  unknown(
      "input type", 4, [](auto& plan) -> auto& { return plan.input; });
  unknown(
      "output type", 4, [](auto& plan) -> auto& { return plan.output; });
  unknown(
      "launch", count_enumerators<tilepost_launch_t>(),
      [](auto& plan) -> auto& { return plan.kernel.launch; });
  for (const int value : {9, -1, INT32_MAX, INT32_MIN})
    unknown(
        "pattern", value, [](auto& plan) -> auto& { return plan.pattern; });
}

}  // namespace
}  // namespace tilepost::test
