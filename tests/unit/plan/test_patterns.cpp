// Every pattern: the division of its plan, that overlap wins where it should, and the text of
// explain.
#include <numeric>
#include <random>

#include "generator/emit/plan_json.h"
#include "tests/catch.h"
#include "tests/unit/plan/only_plan.h"

namespace tilepost::test {
namespace {

Spec pattern_spec(tilepost_pattern_t pattern, int64_t m, int64_t n, int64_t k,
                  Arch arch = Arch::sm_90a) {
  Spec spec = make_spec(m, n, k, arch);
  spec.pattern.value = pattern;
  return spec;
}

constexpr tilepost_pattern_t kShared[] = {TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL,
                                          TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM};

TEST_CASE("the division follows pattern, layout, routing and overlap") {
  for (const Arch arch : {Arch::sm_90a, Arch::sm_80, Arch::host})
    for (const tilepost_transport_t transport : {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_NONE})
      for (const tilepost_layout_t layout : {TILEPOST_PANEL, TILEPOST_TILE})
        for (const tilepost_pattern_t pattern :
             {TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER, TILEPOST_GEMM_ALL_TO_ALL,
              TILEPOST_ALL_GATHER_GEMM, TILEPOST_ALL_TO_ALL_GEMM})
          for (const tilepost_routing_t routing :
               {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS}) {
            if (!row_of(pattern).routes() && routing != TILEPOST_ROUTING_EVEN) continue;
            if (!row_of(pattern).may_tile() && layout == TILEPOST_TILE) continue;
            Spec spec = pattern_spec(pattern, 1000, 1000, 512, arch);
            spec.transport.value = transport;
            spec.schedule.layout.value = layout;
            spec.routing.value = routing;
            const Plan p = only(spec);
            INFO(name_of(arch) << " " << name_of(pattern) << " " << name_of(layout) << " "
                               << name_of(routing) << " " << name_of(transport));
            const bool overlap = transport == TILEPOST_TRANSPORT_NCCL;
            tilepost_division_t expected = TILEPOST_DIVISION_ROWS;
            if (row_of(pattern).moves_input())
              expected = overlap ? TILEPOST_DIVISION_ARRIVALS : TILEPOST_DIVISION_ROWS;
            else if (pattern != TILEPOST_GEMM_ALL_REDUCE)
              expected = layout == TILEPOST_TILE                       ? TILEPOST_DIVISION_COLUMNS
                         : overlap && routing != TILEPOST_ROUTING_ROWS ? TILEPOST_DIVISION_SHARES
                                                                       : TILEPOST_DIVISION_ROWS;
            REQUIRE(p.map.division == expected);
            REQUIRE(p.map.ranks == (pattern == TILEPOST_GEMM_ALL_REDUCE ? 1 : 4));
            REQUIRE(cuts_are_valid(p.map));
            if (!overlap) REQUIRE(p.cuts().size() == 1);
            REQUIRE(std::accumulate(p.group_waves.begin(), p.group_waves.end(), 0) == p.waves);
            const Plan twin = host_twin(p);
            REQUIRE(twin.map.division == p.map.division);
            REQUIRE(verify_plan(twin).empty());
          }
}

TEST_CASE("large problems overlap in every pattern, small ones where kernels exchange tiles") {
  for (const tilepost_pattern_t pattern : kShared) {
    INFO(name_of(pattern));
    const Plan large = only(pattern_spec(pattern, 8192, 8192, 2048));
    REQUIRE(large.transport != TILEPOST_TRANSPORT_NONE);
    REQUIRE((large.cuts().size() > 1 || large.fused != 0));
    REQUIRE(large.prediction.sequence / large.prediction.total > 1.05);
    for (const int64_t m : {1, 16, 64})
      for (const int64_t k : {2048, 7168}) {
        INFO(m << " rows");
        const Plan small = only(pattern_spec(pattern, m, 8192, k));
        REQUIRE(small.transport == (pattern == TILEPOST_ALL_TO_ALL_GEMM
                                        ? TILEPOST_TRANSPORT_NONE
                                        : TILEPOST_TRANSPORT_PEER_TILES));
        REQUIRE(small.prediction.total <= small.prediction.sequence * 1.001);
      }
  }
}

TEST_CASE("no choice is predicted to be slower than the sequence") {
  std::mt19937 random(8);
  const auto some = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint64_t>(most - least + 1));
  };
  for (const tilepost_pattern_t pattern : kCommunicating)
    for (int repeat = 0; repeat < 20; ++repeat) {
      const int64_t ranks = some(2, 4), m = ranks * 128 * some(1, 32);
      Spec spec = pattern_spec(pattern, m, 64 * some(16, 256), 64 * some(8, 224));
      spec.ranks.value = ranks;
      const Plan p = only(spec);
      INFO(name_of(pattern) << " of " << m << " x " << p.map.n << " x " << p.k << " on " << ranks);
      REQUIRE(p.prediction.total <= p.prediction.sequence * 1.001);
    }
  // A share of one tile row. In a cluster of two it would need padding.
  const Plan p = only(pattern_spec(TILEPOST_ALL_GATHER_GEMM, 512, 13952, 9600));
  REQUIRE(p.prediction.total <= p.prediction.sequence * 1.001);
}

TEST_CASE("groups of shares pad no clusters that fewer groups would not") {
  for (const tilepost_pattern_t pattern : kShared)
    for (const int64_t ranks : {2, 3, 4, 5, 8}) {
      Spec spec = pattern_spec(pattern, ranks * 2048, 8192, 2048);
      spec.ranks.value = ranks;
      spec.transport.value = TILEPOST_TRANSPORT_NCCL;
      const Plan p = only(spec);
      INFO(name_of(pattern) << " on " << ranks);
      const int64_t tiles = ranks * 2048 / p.map.tile_m;
      const int64_t columns = (8192 + p.map.tile_n - 1) / p.map.tile_n;
      REQUIRE(static_cast<int64_t>(p.tile_map().tiles.size()) <= (tiles + 2) * columns);
    }
}

TEST_CASE("the timeline is the collectives' order") {
  for (const tilepost_pattern_t pattern : kShared) {
    Spec spec = pattern_spec(pattern, 8192, 8192, 2048);
    spec.transport.value = TILEPOST_TRANSPORT_NCCL;
    const Plan p = only(spec);
    const Prediction& prediction = p.prediction;
    INFO(name_of(pattern));
    for (size_t g = 0; g < p.cuts().size(); ++g) {
      REQUIRE(prediction.collective_end[g] > prediction.collective_start[g]);
      if (row_of(pattern).moves_input())
        REQUIRE(prediction.group_ready[g] >= prediction.collective_end[g]);
      else
        REQUIRE(prediction.collective_start[g] >= prediction.group_ready[g]);
      if (g > 0) REQUIRE(prediction.group_ready[g] >= prediction.group_ready[g - 1]);
    }
    REQUIRE(prediction.total >= prediction.gemm);
  }
}

TEST_CASE("chunks of all_gather_gemm have the sizes asked for") {
  Spec spec = pattern_spec(TILEPOST_ALL_GATHER_GEMM, 8192, 8192, 2048);
  spec.schedule.tile = wish(std::vector<int64_t>{128, 256});
  spec.schedule.cluster = wish<int64_t>(1);
  spec.schedule.groups = wish(std::vector<int64_t>{1, 1, 2});
  REQUIRE(only(spec).cuts() == std::vector<int32_t>{0, 12, 24, 48});  // one share after the other
  spec.schedule.groups = wish(std::vector<int64_t>(49, 1));
  const Planned too_many = plan(spec);
  REQUIRE(too_many.plans.empty());
  INFO(too_many.messages);
  REQUIRE(too_many.messages.find("only 48 bands of 128 in the other ranks' shares of 2048 rows") !=
          std::string::npos);
  spec.schedule.groups = wish(std::vector<int64_t>{1, 1, 2});
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  REQUIRE(only(spec).cuts() == std::vector<int32_t>{0, 4, 8, 16});
  spec.schedule.groups = wish(std::vector<int64_t>(17, 1));
  const Planned planned = plan(spec);
  INFO(planned.messages);
  REQUIRE(planned.plans.empty());
  REQUIRE(planned.messages.find("17 groups") != std::string::npos);
  REQUIRE(planned.messages.find("only 16 bands of 128 in each rank's share of 2048 rows") !=
          std::string::npos);
}

TEST_CASE("chunks arrive in one lane") {
  Spec spec = pattern_spec(TILEPOST_ALL_GATHER_GEMM, 8192, 8192, 2048);
  REQUIRE(only(spec).comm_lanes == 1);
}

TEST_CASE("routed rows and arrivals take kernels that serve them") {
  Spec routed = pattern_spec(TILEPOST_GEMM_ALL_TO_ALL, 64, 2048, 2048);
  routed.routing.value = TILEPOST_ROUTING_ROWS;
  const Plan p = only(routed);
  REQUIRE(p.kernel.name == std::string("gemm_sm90"));
  REQUIRE(p.source.tunables.at("ROUTED") == "1");
  REQUIRE(p.source.tunables.at("PINGPONG") == "0");
  Spec arrivals = pattern_spec(TILEPOST_ALL_GATHER_GEMM, 64, 2048, 2048);
  arrivals.transport.value = TILEPOST_TRANSPORT_NONE;
  REQUIRE(only(arrivals).kernel.name == std::string("gemm_sm90_small"));
  arrivals.transport.value = TILEPOST_TRANSPORT_NCCL;
  REQUIRE(only(arrivals).kernel.name == std::string("gemm_sm90"));
}

TEST_CASE("rows of A are routed by every transport that can, on every target") {
  for (const Arch arch : {Arch::sm_90a, Arch::sm_80, Arch::host})
    for (const tilepost_transport_t transport :
         {TILEPOST_TRANSPORT_NONE, TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE,
          TILEPOST_TRANSPORT_PEER})
      for (const tilepost_routing_t routing :
           {TILEPOST_ROUTING_EVEN, TILEPOST_ROUTING_SPLITS, TILEPOST_ROUTING_ROWS})
        for (const bool any_m : {false, true})
          for (const int64_t most : {0, 1000, 1500, 4000}) {
            const bool even = routing == TILEPOST_ROUTING_EVEN;
            if (transport == TILEPOST_TRANSPORT_PEER && (!even || arch == Arch::sm_80)) continue;
            if (even && most != 0) continue;
            Spec spec = pattern_spec(TILEPOST_ALL_TO_ALL_GEMM, 1001, 1000, 512, arch);
            spec.transport.value = transport;
            spec.routing.value = routing;
            spec.gemm.any_m = any_m;
            if (most > 0) spec.max_received = wish<int64_t>(any_m ? most / 8 : most + 1);
            INFO(name_of(arch) << " " << name_of(transport) << " " << name_of(routing) << " "
                               << any_m << " " << most);
            const Plan p = only(spec);  // only() has verified it
            REQUIRE(p.rows_sent == 1001);
            REQUIRE(p.map.m == (even ? 1004 : most == 0 ? 4004 : spec.max_received->value));
            REQUIRE(rows_vary(p) == (any_m || !even));
            REQUIRE((p.pushes != 0) == (p.access != TILEPOST_ACCESS_MESSAGES));
            if (p.source.tunables.contains("ROUTED"))
              REQUIRE(p.source.tunables.at("ROUTED") == "0");
            const std::string text = explain_plan(p), json = plans_to_json({p});
            INFO(text);
            REQUIRE((text.find("packed") != std::string::npos) ==
                    (routing == TILEPOST_ROUTING_ROWS));
            REQUIRE(text.find("gathered") != std::string::npos);
            REQUIRE((text.find("most received") != std::string::npos) == !even);
            REQUIRE(json.find("\"m\": 1001") != std::string::npos);
            REQUIRE(json.find("\"max_received\": ") != std::string::npos);
            REQUIRE((json.find("model_us") != std::string::npos) ==
                    (rows_vary(p) && arch != Arch::host && p.cuts().size() > 1));
            REQUIRE(verify_plan(host_twin(p)).empty());
            if (!rows_vary(p)) continue;
            const int64_t m = most_in_runs(p) / 3 + 1;
            const Plan run = plan_of_run(p, m);
            REQUIRE(run.map.m == (even ? (m + 3) / 4 * 4 : m));
            REQUIRE(verify_plan(run).empty());
          }
}

// Beside copies, the kernel of an AllGather reads its own rows where the caller has them and starts
// at once.
TEST_CASE("rows of A that are routed take the AllGather's time, or what copies take before it") {
  Spec gathered = pattern_spec(TILEPOST_ALL_GATHER_GEMM, 8192, 8192, 2048);
  Spec routed = pattern_spec(TILEPOST_ALL_TO_ALL_GEMM, 8192, 8192, 2048);
  for (const tilepost_transport_t transport :
       {TILEPOST_TRANSPORT_NCCL, TILEPOST_TRANSPORT_COPY_ENGINE, TILEPOST_TRANSPORT_PEER}) {
    gathered.transport.value = routed.transport.value = transport;
    const Plan p = only(routed), q = only(gathered);
    if (transport == TILEPOST_TRANSPORT_COPY_ENGINE) {
      REQUIRE((p.task_parts == 1 && q.task_parts == 0 && q.reads_own == 1));
      REQUIRE(p.prediction.total > q.prediction.total);
      continue;
    }
    REQUIRE(p.cuts() == q.cuts());
    REQUIRE(p.prediction.total == q.prediction.total);
    REQUIRE(hash_tile_map(p.tile_map()) == hash_tile_map(q.tile_map()));
  }
}

TEST_CASE("norm consumers work in both layouts") {
  for (const tilepost_consumer_t consumer :
       {TILEPOST_CONSUMER_RMS_NORM, TILEPOST_CONSUMER_RESIDUAL_RMS_NORM})
    for (const std::optional<tilepost_layout_t> layout : open_or({TILEPOST_PANEL, TILEPOST_TILE}))
      for (const tilepost_pattern_t pattern :
           {TILEPOST_GEMM, TILEPOST_GEMM_ALL_REDUCE, TILEPOST_GEMM_REDUCE_SCATTER}) {
        Spec spec = pattern_spec(pattern, 1000, 1000, 512);
        spec.consumer.value = consumer;
        spec.schedule.layout.value = layout;
        REQUIRE(only(spec).consumer == consumer);
      }
}

TEST_CASE("explain says what each pattern computes and when") {
  const std::pair<tilepost_pattern_t, std::vector<std::string>> expected[] = {
      {TILEPOST_GEMM_REDUCE_SCATTER,
       {"C[2048, 8192] = this rank's rows of the sum over 4 ranks of A[8192, 2048]",
        "groups of shares", "1 reduce_scatter", "\n  ReduceScatter "}},
      {TILEPOST_GEMM_ALL_TO_ALL,
       {"C[rows, 8192] = an equal part of each rank's rows, 4 ranks, of A[8192, 2048]",
        "4 send, 4 receive", "\n  AllToAll "}},
      {TILEPOST_ALL_GATHER_GEMM,
       {"C[8192, 8192] = A[8192, 2048], 2048 rows from each of 4 ranks, * B", "groups of arrivals",
        "own", "send_rows", "one collective, then the GEMM"}},
      {TILEPOST_ALL_TO_ALL_GEMM,
       {"C[rows, 8192] = A[rows, 2048], an equal part of each rank's rows, 4 ranks, * B",
        "every rank has 8192 rows of A and multiplies what it receives, at most 8192",
        "groups of arrivals", "own", "3 send_own_rows, 3 receive_rows", "\n  AllToAll ",
        "one collective, then the GEMM"}}};
  for (const auto& [pattern, texts] : expected) {
    Spec spec = pattern_spec(pattern, 8192, 8192, 2048);
    spec.transport.value = TILEPOST_TRANSPORT_NCCL;
    const std::string text = explain_plan(only(spec));
    INFO(text);
    for (const std::string& words : texts) CHECK(text.find(words) != std::string::npos);
    // The picture shows communication first where it comes first.
    const bool first = text.find("\n  All") < text.find("\n  GEMM ");
    CHECK(first == row_of(pattern).moves_input());
  }
  Spec any = pattern_spec(TILEPOST_GEMM_ALL_REDUCE, 8192, 8192, 2048);
  any.gemm.any_m = true;
  CHECK(explain_plan(only(any)).find("8192 rows are a bound") != std::string::npos);
}

TEST_CASE("the JSON lists rank 0's steps and the model of any m") {
  Spec spec = pattern_spec(TILEPOST_GEMM_REDUCE_SCATTER, 8192, 8192, 2048);
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  std::string json = plans_to_json({only(spec)});
  CHECK(json.find("\"division\": \"shares\"") != std::string::npos);
  CHECK(json.find("reduce_scatter 0 -> 0, ") != std::string::npos);
  CHECK(json.find("model_us") == std::string::npos);
  spec.gemm.any_m = true;
  json = plans_to_json({only(spec)});
  CHECK(json.find("\"any_m\": true") != std::string::npos);
  CHECK(json.find("model_us") != std::string::npos);
  spec = pattern_spec(TILEPOST_GEMM_ALL_TO_ALL, 8192, 8192, 2048);
  spec.routing.value = TILEPOST_ROUTING_ROWS;
  spec.transport.value = TILEPOST_TRANSPORT_NCCL;
  json = plans_to_json({only(spec)});
  CHECK(json.find("\"routing\": \"rows\"") != std::string::npos);
  CHECK(json.find(" to rank ") == std::string::npos);
}

}  // namespace
}  // namespace tilepost::test
