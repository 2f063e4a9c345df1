// What a pattern can be combined with: routing, layout, epilogue, consumer.
#include "generator/spec/names.h"
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;
using test::Outcome;

constexpr const char* kEveryPattern[] = {"gemm",
                                         "gemm_all_reduce",
                                         "gemm_reduce_scatter",
                                         "gemm_all_to_all",
                                         "all_gather_gemm",
                                         "all_to_all_gemm"};

Outcome read_with(const std::string& pattern, const std::string& more,
                  const std::string& gemm = "") {
  return test::read("tilepost: 1\nname: small\npattern: " + pattern +
                    "\nranks: 3\ngemm: {m: 129, n: 64, k: 7, a: bf16" + gemm + "}\narch: host\n" +
                    more);
}

// Checks that exactly the patterns of `taking` accept the fields. The error of the others must have
// `reason`.
void check_taken(const std::string& more, const std::string& gemm,
                 const std::vector<std::string>& taking, const std::string& reason) {
  for (const std::string pattern : kEveryPattern) {
    const Outcome outcome = read_with(pattern, more, gemm);
    CAPTURE(pattern, more, gemm, outcome.log);
    const bool taken = std::find(taking.begin(), taking.end(), pattern) != taking.end();
    CHECK(outcome.spec.has_value() == taken);
    CHECK(outcome.errors == (taken ? 0 : 1));
    if (!taken) CHECK_THAT(outcome.log, Catch::Contains(reason));
  }
}

}  // namespace

TEST_CASE("every pattern is read") {
  for (const Spelling& pattern : patterns_of_specs()) {
    if (pattern.value == kLayerPattern.value) continue;  // test_layer.cpp
    const PatternRow& row = row_of(static_cast<tilepost_pattern_t>(pattern.value));
    const Outcome outcome = read_with(std::string(pattern.text), "",
                                      std::string(row.has_experts() ? ", experts: 9" : "") +
                                          (row.has_tokens() ? ", top: 2" : ""));
    INFO(outcome.log);
    REQUIRE(outcome.spec.has_value());
    CHECK(static_cast<int>(outcome.spec->pattern.value) == pattern.value);
    CHECK(outcome.spec->routing.value == TILEPOST_ROUTING_EVEN);
    CHECK_FALSE(outcome.spec->routing.given());
  }
}

// GPUs that share memory are at least two. On the host target a rank alone may use what threads of
// one process share.
TEST_CASE("a rank alone has the transports that reach no other rank's memory") {
  for (const Spelling& transport : spellings<tilepost_transport_t>())
    for (const std::string arch : {"sm_90a", "host"}) {
      const std::string name(transport.text);
      const Outcome outcome = test::read(
          "tilepost: 1\nname: small\npattern: gemm_all_reduce\nranks: 1\n"
          "gemm: {m: 128, n: 64, k: 64, a: bf16}\narch: " +
          arch + "\ntransport: " + name + "\n");
      CAPTURE(name, arch, outcome.log);
      const bool shares = name == "copy_engine" || name == "peer";
      const bool refused = name == "peer_tiles" || (shares && arch != "host");
      CHECK(outcome.errors == (refused ? 1 : 0));
      if (!refused) continue;
      CHECK_THAT(outcome.log, Catch::Contains("ranks is '1', transport '" + name + "' is for 2 "));
      CHECK_THAT(outcome.log, Catch::Contains("use 'auto' or '"));
    }
}

TEST_CASE("routing is for patterns with an All-to-All") {
  for (const Spelling& routing : spellings<tilepost_routing_t>()) {
    const std::string line = "routing: " + std::string(routing.text) + "\n";
    check_taken(line, "", {"gemm_all_to_all", "all_to_all_gemm"},
                "routing '" + std::string(routing.text) +
                    "' is for patterns all_to_all_gemm and gemm_all_to_all");
    const Outcome outcome = read_with("gemm_all_to_all", line);
    REQUIRE(outcome.spec.has_value());
    CHECK(static_cast<int>(outcome.spec->routing.value) == routing.value);
  }
  CHECK_THAT(read_with("gemm_all_to_all", "routing: row\n").log,
             Catch::Contains("did you mean 'rows'?"));
}

TEST_CASE("what a rank receives of routed rows of A has a bound") {
  const std::string splits = "routing: splits\n";
  const auto received = [](const std::string& most) { return "max_received: " + most + "\n"; };
  for (const std::string routing : {"splits", "rows"}) {
    const std::string line = "routing: " + routing + "\n";
    for (const std::string most : {"auto", "129", "387"}) {
      const Outcome outcome = read_with("all_to_all_gemm", line + received(most));
      INFO(outcome.log);
      REQUIRE(outcome.spec.has_value());
      CHECK(outcome.spec->max_received.has_value() == (most != "auto"));
    }
    for (const std::string most : {"128", "388"}) {
      const Outcome outcome = read_with("all_to_all_gemm", line + received(most));
      CHECK(outcome.errors == 1);
      CHECK_THAT(outcome.log,
                 Catch::Contains("max_received must be from gemm.m, 129, to ranks * gemm.m, 387") &&
                     Catch::Contains("got '" + most + "'") &&
                     Catch::Contains("gemm.m is given here"));
    }
  }
  CHECK_THAT(read_with("all_to_all_gemm", splits + received("0")).log,
             Catch::Contains("max_received must be a whole number from 1 to 2147482624, or auto"));
  const auto any = [&](const std::string& most) {
    return test::read(
        "tilepost: 1\nname: small\npattern: all_to_all_gemm\nranks: 3\n"
        "gemm: {m: {max: 129}, n: 64, k: 7, a: bf16}\narch: host\n" +
        splits + received(most));
  };
  CHECK(any("1").spec.has_value());
  CHECK_THAT(any("388").log, Catch::Contains("max_received must be from 1 to ranks * gemm.m, 387"));
  for (const std::string routing : {"", "routing: even\n"})
    CHECK_THAT(read_with("all_to_all_gemm", routing + received("129")).log,
               Catch::Contains("max_received is for routing 'splits' and 'rows'"));
  for (const std::string pattern : kEveryPattern)
    if (pattern != "all_to_all_gemm")
      CHECK_THAT(read_with(pattern, received("129")).log,
                 Catch::Contains("max_received is for pattern 'all_to_all_gemm'") &&
                     Catch::Contains("got pattern '" + pattern + "'"));
}

TEST_CASE("what a rank receives is as bounded as what it has") {
  const auto read = [](const std::string& m, const std::string& n, const std::string& more) {
    return test::read(
        "tilepost: 1\nname: small\npattern: all_to_all_gemm\nranks: 4\n"
        "gemm: {m: " +
        m + ", n: " + n + ", k: 64, a: bf16}\narch: host\nrouting: rows\n" + more);
  };
  const Outcome all = read("1000000000", "64", "");
  CHECK(all.errors == 1);
  CHECK_THAT(all.log, Catch::Contains("a rank may receive 4000000000 rows, as many as all 4 ranks "
                                      "have, and a GEMM has at most 2147482624; set max_received"));
  CHECK(read("1000000000", "64", "max_received: 1000000000\n").spec.has_value());
  const Outcome large = read("100000000", "500000", "");
  CHECK(large.errors == 1);
  CHECK_THAT(large.log, Catch::Contains("the output, rows received * gemm.n, must have fewer than "
                                        "2^46 elements; got 400000000 * 500000"));
  CHECK(read("100000000", "500000", "max_received: 100000000\n").spec.has_value());
}

TEST_CASE("every transport goes with the patterns that it can carry") {
  const std::vector<std::string> sends = {"gemm_all_reduce", "gemm_reduce_scatter",
                                          "gemm_all_to_all", "all_gather_gemm", "all_to_all_gemm"};
  for (const std::string transport : {"nccl", "copy_engine", "peer"}) {
    check_taken("transport: " + transport + "\n", "", sends,
                "transport '" + transport + "' has nothing to send");
  }
  const std::string windows = "transport: nccl_symmetric\n";
  check_taken(windows, "", {sends.begin(), sends.end() - 1}, "transport 'nccl_symmetric' ");
  CHECK_THAT(read_with("gemm", windows).log, Catch::Contains("has nothing to send"));
  CHECK_THAT(read_with("all_to_all_gemm", windows).log,
             Catch::Contains("sends rows of A from the caller's memory"));
  for (const std::string routing : {"splits", "rows"})
    CHECK_THAT(read_with("gemm_all_to_all", windows + "routing: " + routing + "\n").log,
               Catch::Contains("receives routed rows in the caller's memory; use copy_engine"));
}

TEST_CASE("memory is shared by whole rows") {
  for (const std::string transport : {"copy_engine", "peer"}) {
    const std::string line = "transport: " + transport + "\n";
    CHECK_THAT(read_with("gemm_all_reduce", line + "schedule: {layout: tile}\n").log,
               Catch::Contains("transport '" + transport + "' moves whole rows between ranks") &&
                   Catch::Contains("use layout 'panel' or transport 'nccl'"));
    CHECK_THAT(read_with("gemm_all_reduce", line + "consumer: unpermute\n").log,
               Catch::Contains("so consumer must be 'none'"));
    CHECK(read_with("gemm_all_reduce", line + "schedule: {layout: panel}\n").spec.has_value());
    CHECK(read_with("gemm_reduce_scatter", line + "consumer: rms_norm\n").spec.has_value());
  }
  CHECK(read_with("gemm_all_reduce", "transport: nccl_symmetric\nschedule: {layout: tile}\n")
            .spec.has_value());
}

TEST_CASE("peers store with TMA what is theirs, and are waited for by a kernel") {
  const std::string peer = "transport: peer\n";
  for (const std::string pattern : {"gemm_all_to_all", "all_to_all_gemm"}) {
    for (const std::string routing : {"splits", "rows"}) {
      CHECK_THAT(
          read_with(pattern, peer + "routing: " + routing + "\n").log,
          Catch::Contains("routing '" + routing + "' is not possible with transport 'peer'"));
      CHECK(read_with(pattern, "transport: copy_engine\nrouting: " + routing + "\n")
                .spec.has_value());
    }
    CHECK(read_with(pattern, peer + "routing: even\n").spec.has_value());
  }
  CHECK_THAT(read_with("gemm_all_reduce", peer + "schedule: {wait: stream}\n").log,
             Catch::Contains("schedule.wait 'stream' is not possible with transport 'peer'"));
  for (const std::string pattern : {"all_gather_gemm", "all_to_all_gemm"})
    CHECK_THAT(read_with(pattern, peer + "schedule: {comm_sms: 3}\n").log,
               Catch::Contains("schedule.comm_sms is not possible with pattern '" + pattern + "'"));
  for (const std::string pattern : {"gemm_all_reduce", "gemm_reduce_scatter", "gemm_all_to_all"})
    CHECK(read_with(pattern, peer + "schedule: {comm_sms: 3}\n").spec.has_value());
  for (const std::string arch : {"sm_80", "sm_89", "[sm_90a, sm_86]"}) {
    const auto read = [&](const std::string& transport) {
      return test::read(test::with_line("arch", "arch: " + arch) + "transport: " + transport +
                        "\n");
    };
    CHECK_THAT(read("peer").log, Catch::Contains("transport 'peer' stores with TMA, which sm_90a"));
    CHECK(read("copy_engine").spec.has_value());
  }
}

TEST_CASE("sums are arranged where peers store them") {
  for (const std::string sum : {"staged", "added"}) {
    const std::string line = "schedule: {sum: " + sum + "}\n";
    for (const std::string transport : {"auto", "nccl", "copy_engine", "none"}) {
      const std::string log =
          read_with("gemm_all_reduce", "transport: " + transport + "\n" + line).log;
      CHECK_THAT(log, Catch::Contains("schedule.sum '" + sum + "' is for transport 'peer'"));
      CHECK_THAT(log, Catch::Contains("got transport '" + transport + "'"));
    }
    for (const std::string pattern :
         {"gemm", "gemm_all_to_all", "all_gather_gemm", "all_to_all_gemm"})
      CHECK_THAT(read_with(pattern, line).log, Catch::Contains("has nothing to add up"));
    CHECK(read_with("gemm_all_reduce", "transport: peer\n" + line).spec.has_value());
  }
  CHECK(read_with("gemm_all_reduce", "schedule: {sum: auto}\n").spec.has_value());
}

TEST_CASE("only what is summed over ranks restricts the epilogue") {
  const std::vector<std::string> sums_nothing = {"gemm", "gemm_all_to_all", "all_gather_gemm",
                                                 "all_to_all_gemm"};
  check_taken("", ", epilogue: [gelu]", sums_nothing, "gelu(x) + gelu(y) != gelu(x + y)");
  check_taken("", ", epilogue: [silu]", sums_nothing, "silu(x) + silu(y) != silu(x + y)");
  check_taken("", ", epilogue: [residual]", sums_nothing,
              "'residual' before a sum over ranks is added on every rank, 3 times in all");
  check_taken("", ", epilogue: [scale_rows, scale_columns, bias]",
              {std::begin(kEveryPattern), std::end(kEveryPattern)}, "");
}

TEST_CASE("the tile layout is for what is sent after the GEMM, or kept") {
  check_taken("schedule: {layout: tile}\n", "",
              {"gemm", "gemm_all_reduce", "gemm_reduce_scatter", "gemm_all_to_all"},
              "schedule.layout 'tile' is not possible with pattern 'all_");
  check_taken("schedule: {layout: panel}\n", "",
              {std::begin(kEveryPattern), std::end(kEveryPattern)}, "");
}

TEST_CASE("chunks arrive in one lane") {
  check_taken("schedule: {lanes: 2}\n", "",
              {"gemm", "gemm_all_reduce", "gemm_reduce_scatter", "gemm_all_to_all"},
              "_gemm'; got '2', but its tiles count on the chunks");
  check_taken("schedule: {lanes: 1}\n", "", {std::begin(kEveryPattern), std::end(kEveryPattern)},
              "");
}

TEST_CASE("consumers follow the patterns that have something for them to do") {
  for (const std::string norm : {"rms_norm", "residual_rms_norm"})
    for (const std::string layout : {"auto", "panel", "tile"}) {
      if (layout == "tile") continue;  // all_gather_gemm would be refused because of its layout
      check_taken("consumer: " + norm + "\nschedule: {layout: " + layout + "}\n", "",
                  {"gemm", "gemm_all_reduce", "gemm_reduce_scatter"},
                  "consumer '" + norm + "' is for patterns gemm, gemm_all_reduce and");
    }
  check_taken("consumer: unpermute\n", "",
              {"gemm", "gemm_all_reduce", "gemm_reduce_scatter", "gemm_all_to_all"},
              "_gemm' is row-major already");
  check_taken("consumer: unpermute\nschedule: {layout: panel}\n", "", {}, "row-major already");
  CHECK(read_with("gemm_reduce_scatter", "consumer: rms_norm\nschedule: {layout: tile}\n")
            .spec.has_value());
}

// The planner relies on these rules.
TEST_CASE("groups have waves, and a budget for collectives an SM") {
  const auto refused = [](const std::string& schedule, const std::string& path) {
    const Outcome outcome = read_with("gemm_all_reduce", "schedule: {" + schedule + "}\n");
    CHECK(outcome.errors == 1);
    CHECK_THAT(outcome.log, Catch::Contains("schedule." + path));
  };
  refused("comm_sms: 0", "comm_sms");
  refused("comm_sms: -1", "comm_sms");
  refused("groups: []", "groups");
  refused("groups: [0, 18]", "groups");
  refused("groups: [18, 0]", "groups");
  refused("lanes: 0", "lanes");
}

TEST_CASE("groups are for one m") {
  CHECK(read_with("gemm_all_reduce", "schedule: {groups: [1, 2]}\n").spec.has_value());
  const Outcome outcome =
      test::read(test::kMinimal.str() + "schedule: {groups: [1, 2]}\n", {{"gemm.m.max", "64"}});
  CHECK(outcome.errors == 1);
  CHECK_THAT(outcome.log, Catch::Contains("with '{max: 64}' every run chooses the groups"));
}

TEST_CASE("slots of any m are not left to the caller") {
  const std::string tile = "schedule: {layout: tile}\n";
  const auto read = [](const std::string& pattern, const std::string& more) {
    return test::read("tilepost: 1\nname: small\npattern: " + pattern +
                      "\nranks: 3\ngemm: {m: {max: 129}, n: 64, k: 7, a: bf16}\narch: host\n" +
                      more);
  };
  for (const std::string pattern : {"gemm", "gemm_all_reduce"}) {
    const Outcome outcome = read(pattern, tile);
    CHECK(outcome.errors == 1);
    CHECK_THAT(outcome.log, Catch::Contains("schedule.layout 'tile' with '{max: 129}' needs a"));
    CHECK(read(pattern, "").spec.has_value());
    CHECK(read(pattern, "schedule: {layout: panel}\n").spec.has_value());
    for (const std::string consumer : {"unpermute", "rms_norm", "residual_rms_norm"})
      CHECK(read(pattern, tile + "consumer: " + consumer + "\n").spec.has_value());
  }
  for (const std::string pattern : {"gemm_reduce_scatter", "gemm_all_to_all"})
    CHECK(read(pattern, tile).spec.has_value());
}

TEST_CASE("any m and 8-bit inputs go with every pattern") {
  for (const std::string pattern : kEveryPattern) {
    const Outcome outcome = test::read(
        "tilepost: 1\nname: small\npattern: " + pattern +
        "\nranks: 64\ngemm: {m: {max: 7}, n: 64, k: 7, a: e4m3, epilogue: [scale]}\narch: host\n");
    INFO(outcome.log);
    REQUIRE(outcome.spec.has_value());
    CHECK(outcome.spec->gemm.any_m);
  }
}

TEST_CASE("neighbours are false unless given, and either word is read") {
  for (const std::string pattern : kEveryPattern) {
    CHECK_FALSE(read_with(pattern, "").spec->neighbours.value);
    CHECK_FALSE(read_with(pattern, "neighbours: false\n").spec->neighbours.value);
    const Outcome outcome = read_with(pattern, "neighbours: true\n");
    INFO(outcome.log);
    REQUIRE(outcome.spec.has_value());
    CHECK(outcome.spec->neighbours.value);
    CHECK(outcome.spec->neighbours.given());
  }
  CHECK_THAT(read_with("gemm", "neighbours: 1\n").log,
             Catch::Contains("neighbours must be one of false, true; got '1'"));
}

TEST_CASE("beside neighbours no helper warps push rows of A") {
  for (const std::string pattern : {"all_gather_gemm", "all_to_all_gemm"})
    for (const std::string transport : {"nccl", "nccl_symmetric", "copy_engine", "peer", "none"}) {
      if (transport == "nccl_symmetric" && pattern == "all_to_all_gemm") continue;
      const std::string asked = "transport: " + transport + "\n";
      CHECK(read_with(pattern, asked + "neighbours: false\n").spec.has_value());
      const Outcome outcome = read_with(pattern, asked + "neighbours: true\n");
      CHECK(outcome.errors == (transport == "peer" ? 1 : 0));
      if (transport == "peer")
        CHECK_THAT(outcome.log, Catch::Contains("transport 'peer' is not possible with pattern '" +
                                                pattern + "' and neighbours 'true'"));
    }
  for (const std::string pattern : {"gemm_all_reduce", "gemm_reduce_scatter", "gemm_all_to_all"})
    CHECK(read_with(pattern, "transport: peer\nneighbours: true\n").spec.has_value());
}
