// What of the points PyTorch is asked for, and what becomes of its answer.
#include "generator/bench/torch.h"
#include "tests/bench/sample.h"

using namespace bench_test;
using Catch::Contains;

namespace {

HarnessProgram make(const std::string& name, tilepost_pattern_t pattern, int64_t m) {
  HarnessProgram program = make_program(name);
  program.plans[0].pattern = pattern;
  program.plans[0].map.m = m;
  return program;
}

std::vector<HarnessProgram> programs() {
  return {make("scatter", TILEPOST_GEMM_REDUCE_SCATTER, 4096),
          make("scatter_again", TILEPOST_GEMM_REDUCE_SCATTER, 4096),
          make("scatter_more", TILEPOST_GEMM_REDUCE_SCATTER, 8192),
          make("gather", TILEPOST_ALL_GATHER_GEMM, 4096),
          make("reduce", TILEPOST_GEMM_ALL_REDUCE, 4096)};
}

constexpr const char* kReport = R"({"torch": "2.11.0", "nccl": "2.28.9", "points": [
  {"pattern": "gemm_reduce_scatter", "m": 4096, "n": 8192, "k": 2048, "wrong": 0, "failure": "",
   "us": {"fused": [90, 80], "sequence": [100, 100]}},
  {"pattern": "gemm_reduce_scatter", "m": 8192, "n": 8192, "k": 2048, "wrong": 3, "failure": "",
   "us": {}}]})";
constexpr const char* kGraphed = R"({"torch": "2.11.0", "nccl": "2.28.9", "points": [
  {"pattern": "gemm_all_reduce", "m": 4096, "n": 8192, "k": 2048, "wrong": 0, "failure": "",
   "us": {"one_shot": [30], "two_shot": [20], "fused": [20], "sequence": [40]},
   "graph_us": {"one_shot": [13], "two_shot": [12], "fused": [12], "sequence": [14]}}]})";

}  // namespace

TEST_CASE("PyTorch is asked for every shape of a pattern once, and for what it has") {
  const std::vector<TorchRun> runs = torch_runs(programs(), 4);
  REQUIRE(runs.size() == 3);
  CHECK(runs[0].pattern == TILEPOST_GEMM_REDUCE_SCATTER);
  CHECK(runs[0].shapes == std::vector<std::string>{"4096x8192x2048", "8192x8192x2048"});
  CHECK(runs[1].pattern == TILEPOST_ALL_GATHER_GEMM);
  CHECK(runs[2].pattern == TILEPOST_GEMM_ALL_REDUCE);
  CHECK(torch_runs(programs(), 3).empty());

  std::vector<HarnessProgram> others = programs();
  others[0].plans[0].operands = TILEPOST_NN;
  others[1].plans[0].epilogue = TILEPOST_BIAS;
  others[2].plans[0].consumer = TILEPOST_CONSUMER_RMS_NORM;
  others[3].plans[0].input = TILEPOST_E4M3;
  others[4].plans[0].operands = TILEPOST_NN;
  CHECK(torch_runs(others, 4).empty());
}

TEST_CASE("its times go to every program of the shape, and none to a wrong result") {
  BenchLog log;
  const TorchRun run = torch_runs(programs(), 4)[0];
  REQUIRE(take_torch(kReport, run, programs(), log));
  for (const char* name : {"scatter", "scatter_again"}) {
    REQUIRE(log.of(name).has_mode("torch"));
    CHECK(log.of(name).mode("torch")->us.at("fused") == std::vector<double>{90, 80});
  }
  CHECK_FALSE(log.of("scatter_more").has_mode("torch"));
  REQUIRE(log.of("scatter_more").notes.size() == 1);
  CHECK_THAT(log.of("scatter_more").notes[0], Contains("PyTorch: 3 elements are wrong"));
  CHECK_FALSE(log.of("gather").has_mode("torch"));
  CHECK(log.torch() == "2.11.0, NCCL 2.28.9");
}

TEST_CASE("an AllReduce has every way, also in graphs") {
  BenchLog log;
  const TorchRun run = torch_runs(programs(), 4)[2];
  REQUIRE(take_torch(kGraphed, run, programs(), log));
  REQUIRE(log.of("reduce").has_mode("torch"));
  REQUIRE(log.of("reduce").has_mode("torch graph"));
  CHECK(log.of("reduce").mode("torch")->us.at("one_shot") == std::vector<double>{30});
  CHECK(log.of("reduce").mode("torch graph")->us.at("fused") == std::vector<double>{12});
}

TEST_CASE("what is not the script's file is refused") {
  BenchLog log;
  const TorchRun run = torch_runs(programs(), 4)[0];
  for (const char* text :
       {"", "[]", "{}", R"({"points": 1})", R"({"points": [1]})", R"({"points": [{"m": 1}]})"})
    CHECK_FALSE(take_torch(text, run, programs(), log));
  CHECK_FALSE(log.of("scatter").has_mode("torch"));
}
