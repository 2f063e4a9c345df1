// verify_plan must notice what goes wrong between ranks: mutants of divisions, and of every field
// of every step.
#include "tests/unit/plan/exchange_mutants.h"

namespace tilepost::test {
namespace {

TEST_CASE("the exchanging subjects are correct") {
  for (const Plan& plan : subjects()) {
    INFO(name(plan));
    REQUIRE(join(verify_plan(plan)) == "");
    REQUIRE(follow(plan, [](int, int, std::vector<Step>&) {}) == "");
  }
}

TEST_CASE("caught: any field of any step of one rank, or a step too few or too many") {
  int mutants = 0;
  for (const Plan& plan : subjects())
    for (int g = 0; g < static_cast<int>(plan.cuts().size()); ++g)
      for (int rank = 0; rank < kRanks; ++rank) {
        TrafficMemory memory;
        const std::vector<Step> steps = traffic_of(plan, memory).steps(g, rank);
        for (size_t i = 0; i < steps.size(); ++i) {
          const auto caught = [&](const char* what,
                                  const std::function<void(std::vector<Step>&)>& mutate) {
            ++mutants;
            INFO(name(plan) << ", group " << g << ", rank " << rank << ", step " << i << ": "
                            << what);
            REQUIRE(follow(plan, [&](int at, int on, std::vector<Step>& changed) {
                      if (at == g && on == rank) mutate(changed);
                    }) != "");
          };
          caught("missing", [&](std::vector<Step>& s) { s.erase(s.begin() + i); });
          caught("twice", [&](std::vector<Step>& s) { s.push_back(s[i]); });
          for (const Mutation& mutation : kMutations)
            if (mutation.applies(steps[i].kind))
              caught(mutation.what,
                     [&](std::vector<Step>& s) { mutation.apply(s[i], width(plan)); });
        }
      }
  REQUIRE(mutants > 1000);
}

TEST_CASE("caught: a collective call that is wrong on all ranks alike") {
  int mutants = 0;
  for (const Plan& plan : subjects())
    for (const Mutation& mutation : kMutations) {
      bool changed_any = false;
      const std::string text = follow(plan, [&](int g, int, std::vector<Step>& changed) {
        if (g + 1 != static_cast<int>(plan.cuts().size())) return;
        for (Step& step : changed) {
          const bool collective = step.kind == StepKind::all_reduce ||
                                  step.kind == StepKind::reduce_scatter ||
                                  step.kind == StepKind::all_gather;
          if (!collective || !mutation.applies(step.kind)) continue;
          mutation.apply(step, width(plan));
          changed_any = true;
        }
      });
      if (!changed_any) continue;
      ++mutants;
      INFO(name(plan) << ": " << mutation.what);
      REQUIRE(text != "");
    }
  REQUIRE(mutants > 20);
}

TEST_CASE("caught: two sends to one rank change places") {
  const Plan plan = subject(TILEPOST_GEMM_ALL_TO_ALL, TILEPOST_DIVISION_COLUMNS, {3});
  const std::string text = follow(plan, [](int, int rank, std::vector<Step>& steps) {
    std::vector<size_t> to_one;
    for (size_t i = 0; i < steps.size(); ++i)
      if (rank == 0 && steps[i].kind == StepKind::send && steps[i].peer == 1) to_one.push_back(i);
    if (to_one.size() > 1) std::swap(steps[to_one[0]], steps[to_one[1]]);
  });
  REQUIRE(text.find("comes from row") != std::string::npos);
}

TEST_CASE("caught: a step before its group is finished") {
  const Plan plan = scattered();
  const std::string text = follow(plan, [&](int g, int, std::vector<Step>& steps) {
    if (g == 0) steps[0].from = plan.tile_map().groups[1].offset;
  });
  REQUIRE(text.find("reads beyond its group") != std::string::npos);
}

TEST_CASE("caught: memory that is smaller or larger than what steps need") {
  for (const Plan& plan : subjects()) {
    if (row_of(plan).moves_input()) continue;
    for (const int64_t more : {-1, 1}) {
      TrafficMemory memory;
      Traffic traffic = traffic_of(plan, memory);
      traffic.received[1] += more * width(plan);
      Findings findings;
      follow_product(plan, traffic, findings);
      INFO(name(plan));
      REQUIRE(join(findings.take()).find("elements are received") != std::string::npos);
    }
  }
  const Plan plan = subject(TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_DIVISION_ROWS, {9}, false);
  TrafficMemory memory;
  Traffic traffic = traffic_of(plan, memory);
  // Without the last row, which only fills up the last share.
  traffic.buffer = plan.tile_map().send_elements;
  Findings findings;
  follow_product(plan, traffic, findings);
  REQUIRE(join(findings.take()).find("reads beyond its group") != std::string::npos);
}

TEST_CASE("caught: a tile in another share's part, or in another slab") {
  require_caught(scattered(), "a tile starts at row", [](Plan& plan) {
    for (tilepost_tile_t& tile : plan.own_tile_map().tiles)
      if (tile.row == 0) tile.row = 2;
  });
  require_caught(scattered(), "a tile starts at row", [](Plan& plan) {
    std::vector<tilepost_tile_t>& tiles = plan.own_tile_map().tiles;
    std::swap(tiles[0].row, tiles[1].row);
  });
  require_caught(columns(), "a tile starts at row", [](Plan& plan) {
    plan.own_tile_map().tiles[0].row +=
        static_cast<int32_t>(plan.own_tile_map().send_elements / 3 / 3);
  });
  require_caught(columns(), "no room for 3 shares", [](Plan& plan) {
    // 17 rows, where three shares have room for 18.
    plan.own_tile_map().send_elements = int64_t{3} * 3 * 17;
  });
}

TEST_CASE("caught: groups that are no equal parts, or no whole slabs") {
  const auto hand_over = [](Plan& plan) {  // one tile row of one share goes to the other group
    const int64_t elements = plan.map.tile_m * plan.map.n;
    plan.own_tile_map().groups[0].count += elements;
    plan.own_tile_map().groups[1].offset += elements;
    plan.own_tile_map().groups[1].count -= elements;
  };
  require_caught(scattered(), "not a block of whole rows", hand_over);
  require_caught(columns(), "not a block of whole rows", hand_over);
  require_caught(scattered(), "cut", [](Plan& plan) { move_cut(plan, 0); });
  require_caught(columns(), "cut", [](Plan& plan) { move_cut(plan, 0); });
}

// Positions a and b exchange their tiles. Each keeps its group.
void exchange(Plan& plan, size_t a, size_t b) {
  std::vector<tilepost_tile_t>& tiles = plan.own_tile_map().tiles;
  std::swap(tiles[a], tiles[b]);
  std::swap(tiles[a].group, tiles[b].group);
  for (int32_t& position : plan.own_tile_map().positions)
    if (position == static_cast<int32_t>(a))
      position = static_cast<int32_t>(b);
    else if (position == static_cast<int32_t>(b))
      position = static_cast<int32_t>(a);
}

// Exchanges a tile of group 0 and one of the last group.
void exchange_early_and_late(Plan& plan) {
  std::vector<tilepost_tile_t>& tiles = plan.own_tile_map().tiles;
  const auto late = static_cast<size_t>(plan.own_tile_map().groups.back().first_tile);
  for (size_t t = 0; t < late; ++t)
    if (tiles[t].group == 0 && tiles[t].n == tiles[late].n && tiles[t].row >= 0)
      return exchange(plan, t, late);
}

TEST_CASE("caught: a tile that waits for too little") {
  for (const Plan& plan : {gathered(17), gathered(18), dispatched(TILEPOST_ROUTING_EVEN),
                           dispatched(TILEPOST_ROUTING_SPLITS), dispatched(TILEPOST_ROUTING_ROWS)})
    require_caught(plan, "the last of them arrive with group", exchange_early_and_late);
}

TEST_CASE("caught: a tile that waits for too little on a rank with rows of its own number") {
  for (const tilepost_routing_t routing :
       {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
    const Plan plan = dispatched(routing);
    TrafficMemory memory;
    const Traffic traffic = traffic_of(plan, memory);
    for (TileMap& map : memory.maps)
      for (tilepost_tile_t& tile : map.tiles)
        if (tile.row >= 0 && tile.group + 1 == plan.map.num_groups) {
          const int32_t group = std::exchange(tile.group, 0);
          Findings findings;
          check_of(plan).follow(plan, traffic, findings);
          REQUIRE_FALSE(findings.empty());
          tile.group = group;
        }
    Findings findings;
    check_of(plan).follow(plan, traffic, findings);
    REQUIRE(findings.empty());
  }
}

TEST_CASE("rows of A are routed unevenly, and one rank receives as many as one may") {
  for (const tilepost_routing_t routing : {TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
    const Plan plan = dispatched(routing);
    REQUIRE(num_samples(plan) == 2);
    for (const int sample : {0, 1}) {
      TrafficMemory memory;
      const Traffic traffic = traffic_of(plan, memory, sample);
      std::vector<int64_t> received(kRanks, 0);
      for (int source = 0; source < kRanks; ++source) {
        int64_t sent = 0;
        for (int rank = 0; rank < kRanks; ++rank)
          for (const Traffic::Run& run : traffic.sent[source][rank])
            sent += run.rows, received[rank] += run.rows;
        REQUIRE(sent == plan.rows_sent);
      }
      INFO(received[0] << ", " << received[1] << ", " << received[2]);
      REQUIRE(received[2] == (sample == 0 ? 23 : 22));
      REQUIRE(received[0] < received[1]);
    }
  }
}

TEST_CASE("rows of A are routed in every small shape") {
  int plans = 0;
  for (const int ranks : {1, 2, 3, 5})
    for (const int64_t sent : {1, 2, 5, 8, 13})
      for (const tilepost_routing_t routing :
           {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
        for (const tilepost_access_t access :
             {TILEPOST_ACCESS_MESSAGES, TILEPOST_ACCESS_READ, TILEPOST_ACCESS_WRITE})
          for (const int tile_m : {1, 2, 3})
            for (int64_t most = sent; most <= ranks * sent; most += sent / 2 + 1) {
              const bool even = routing == TILEPOST_ROUTING_EVEN;
              if (access == TILEPOST_ACCESS_WRITE && !even) continue;
              SmallPlan small;
              small.pattern = TILEPOST_ALL_TO_ALL_GEMM;
              small.division = TILEPOST_DIVISION_ARRIVALS;
              small.routing = routing, small.access = access, small.ranks = ranks;
              small.rows_sent = sent, small.m = even ? (sent + ranks - 1) / ranks * ranks : most;
              small.n = 4, small.tile_m = tile_m, small.tile_n = 3;
              const int64_t share = (small.m + ranks - 1) / ranks;
              const bool in_turns = access == TILEPOST_ACCESS_READ && ranks > 1;
              const auto end =
                  static_cast<int32_t>((share + tile_m - 1) / tile_m * (in_turns ? ranks - 1 : 1));
              for (const int32_t step : {1, 2, 3, end}) {
                small.cuts = {0};
                while (small.cuts.back() < end)
                  small.cuts.push_back(std::min(end, small.cuts.back() + step));
                const Plan plan = build_plan(small);
                INFO(name(plan) << ", " << ranks << " ranks, " << sent << " rows, tiles of "
                                << tile_m << ", cuts of " << step);
                REQUIRE(join(verify_plan(plan)) == "");
                ++plans;
              }
              if (even) break;
            }
  REQUIRE(plans > 3000);
}

TEST_CASE("caught: rows of A in another order than they are sent in") {
  const Plan plan = dispatched(TILEPOST_ROUTING_ROWS);
  TrafficMemory memory;
  Traffic traffic = traffic_of(plan, memory);
  std::swap(traffic.orders[1][0], traffic.orders[1][1]);
  Findings findings;
  check_of(plan).follow(plan, traffic, findings);
  REQUIRE(join(findings.take()).find("rank 1: its rows for rank") != std::string::npos);
}

TEST_CASE("caught: a rank that receives more rows than the plan is for") {
  const Plan plan = dispatched(TILEPOST_ROUTING_SPLITS);
  TrafficMemory memory;
  const Traffic traffic = traffic_of(plan, memory);
  Plan fewer = plan;
  fewer.map.m = 22;
  Findings findings;
  check_of(plan).follow(fewer, traffic, findings);
  REQUIRE(join(findings.take()).find("rank 2 receives 23 rows of at most 22") != std::string::npos);
}

TEST_CASE("caught: rows that ranks have and rows that one receives do not fit together") {
  require_caught(dispatched(TILEPOST_ROUTING_EVEN), "rows on each of 3 ranks",
                 [](Plan& plan) { plan.rows_sent = 21; });
  require_caught(dispatched(TILEPOST_ROUTING_SPLITS), "rows on each of 3 ranks",
                 [](Plan& plan) { plan.rows_sent = 7; });
  require_caught(dispatched(TILEPOST_ROUTING_ROWS), "rows on each of 3 ranks",
                 [](Plan& plan) { plan.rows_sent = 0; });
  require_caught(gathered(), "rows on each of 3 ranks", [](Plan& plan) { plan.rows_sent = 17; });
}

TEST_CASE("caught: an arrival that raises its counter twice, sends a block or is of other rows") {
  require_caught(gathered(), "its arrival raises the counter 1 times",
                 [](Plan& plan) { plan.own_tile_map().groups[1].target = 2; });
  require_caught(gathered(), "sends a block",
                 [](Plan& plan) { plan.own_tile_map().groups[1].count = 8; });
  require_caught(gathered(), "of a row-major output",
                 [](Plan& plan) { plan.own_tile_map().tiles[0].row += 2; });
  require_caught(gathered(), "do not come in order", [](Plan& plan) {
    plan.comm_lanes = 2;
    plan.comm_ctas = 2;
    ++plan.sms;
  });
  require_caught(gathered(), "the last of them arrive with group",
                 [](Plan& plan) { move_cut(plan, 1); });
}

TEST_CASE("caught: chunks that arrive in another order than the cuts say") {
  for (const Plan& plan :
       {gathered(), dispatched(TILEPOST_ROUTING_EVEN), dispatched(TILEPOST_ROUTING_SPLITS)}) {
    TrafficMemory memory;
    Traffic traffic = traffic_of(plan, memory);
    traffic.steps = [steps = traffic.steps](int g, int rank) {
      return steps(g == 0 ? 0 : 3 - g, rank);
    };
    Findings findings;
    check_of(plan).follow(plan, traffic, findings);
    REQUIRE(join(findings.take()).find("whose cuts say otherwise") != std::string::npos);
  }
}

TEST_CASE("caught: cluster-mates of two groups") {
  require_caught(scattered(), "cluster-mates", [](Plan& plan) {
    std::vector<tilepost_group_t>& groups = plan.own_tile_map().groups;
    --groups[0].num_tiles, --groups[0].target;
    --groups[1].first_tile, ++groups[1].num_tiles, ++groups[1].target;
    plan.own_tile_map().tiles[groups[1].first_tile].group = 1;
  });
}

TEST_CASE("caught: an entry of the inverse for rows that are not there") {
  // Shares of 2, 2 and 1 of 5 rows leave no rank without rows. With 7 ranks some have none.
  SmallPlan small;
  small.m = 5, small.n = 2, small.tile_m = 1, small.tile_n = 2, small.ranks = 7;
  small.pattern = TILEPOST_GEMM_ALL_TO_ALL, small.division = TILEPOST_DIVISION_SHARES;
  small.cuts = {1};
  require_caught(build_plan(small), "no tile is at entry 6 of the inverse",
                 [](Plan& plan) { plan.own_tile_map().positions[6] = 0; });
}

TEST_CASE("caught: what does not go with the pattern") {
  require_caught(scattered(), "division",
                 [](Plan& plan) { plan.map.division = TILEPOST_DIVISION_ROWS; });
  require_caught(gathered(), "division",
                 [](Plan& plan) { plan.transport = TILEPOST_TRANSPORT_NONE; });
  require_caught(scattered(), "epilogue", [](Plan& plan) { plan.epilogue = TILEPOST_GELU; });
  require_caught(scattered(), "consumer unpermute",
                 [](Plan& plan) { plan.consumer = TILEPOST_CONSUMER_UNPERMUTE; });
  require_caught(gathered(), "consumer rms_norm",
                 [](Plan& plan) { plan.consumer = TILEPOST_CONSUMER_RMS_NORM; });
  require_caught(dispatched(TILEPOST_ROUTING_SPLITS, TILEPOST_ACCESS_READ), "access 2",
                 [](Plan& plan) {
                   plan.set_transport(TILEPOST_TRANSPORT_PEER);
                   plan.map.round_robin = 0;
                 });
  require_caught(dispatched(TILEPOST_ROUTING_SPLITS), "routed rows are sent or received in windows",
                 [](Plan& plan) { plan.set_transport(TILEPOST_TRANSPORT_NCCL_SYMMETRIC); });
  require_caught(gathered(), "routing rows",
                 [](Plan& plan) { plan.routing = TILEPOST_ROUTING_ROWS; });
}

}  // namespace
}  // namespace tilepost::test
