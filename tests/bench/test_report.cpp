#include "llvm/Support/JSON.h"
#include "tests/bench/sample.h"

using namespace bench_test;
using Catch::Contains;

namespace {

const char* const kNames[] = {"fine", "wrong", "broken", "ranks", "ends", "hangs"};

std::vector<HarnessProgram> programs() {
  std::vector<HarnessProgram> result;
  for (const char* name : kNames) result.push_back(make_program(name));
  return result;
}

BenchContext context() {
  return {"2026-11-21T15:00:00Z", "0123456789ab", {}};
}

std::string rows(const char* name) {
  return table_rows(make_program(name), read_log().of(name));
}

// The words of the line that starts with `mode`.
std::vector<std::string> words(const std::string& text, const std::string& mode) {
  std::vector<std::string> result;
  llvm::SmallVector<llvm::StringRef> lines, parts;
  llvm::StringRef(text).split(lines, '\n');
  for (const llvm::StringRef line : lines)
    if (line.starts_with(mode + " ")) line.split(parts, ' ', -1, false);
  for (const llvm::StringRef part : parts) result.push_back(part.str());
  return result;
}

}  // namespace

TEST_CASE("the head says on what and how") {
  const std::string head = table_head(context(), read_log().machine(), 100);
  for (const char* part :
       {"revision 0123456789ab", "2026-11-21T15:00:00Z", "1 x NVIDIA H200, 132 SMs, sm_90;",
        "driver 580.82.07", "CUDA 13.0", "cuBLASLt 13.1.0", "NCCL 2.28.3", "50 rounds",
        "about 2 min", "#wrong", "TFLOP/s", "on/off"})
    CHECK_THAT(head, Contains(part));
  CHECK_THAT(table_head({}, {}, 1), Contains("revision unknown"));
}

TEST_CASE("a row per mode") {
  const std::string text = rows("fine");
  const std::vector<std::string> cool = words(text, "cool");
  // 2 * 4096 * 8192 * 2048 in 100 us are 1374 TFLOP/s.
  CHECK(cool == std::vector<std::string>{"cool", "fine", "4096x8192x2048", "bf16>bf16", "tn",
                                         "gemm_sm90", "128x256x64/4", "4x2", "panel", "128/132",
                                         "0", "100.0", "1374", "102.0", "1347", "1.020",
                                         "1.020-1.020", "0.990", "nvjet_128x256"});
  CHECK(words(text, "sustained").size() == cool.size());
}

TEST_CASE("CTAs that divide K are told from those that share operands, and long names are cut") {
  HarnessProgram program = make_program("fine");
  program.plans.front().source.split_k = 4;
  ProgramSamples samples = read_log().of("fine");
  for (ModeSamples& mode : samples.modes) mode.cublas_kernels = std::string(300, 'x');
  const std::vector<std::string> cool = words(table_rows(program, samples), "cool");
  CHECK(cool[7] == "k4");
  CHECK(cool.back() == std::string(64, 'x') + "...");
}

TEST_CASE("speeds are of the rows that were multiplied, shapes of those that a rank sends") {
  HarnessProgram program = make_program("fine");
  program.plans.front().pattern = TILEPOST_ALL_TO_ALL_GEMM;
  program.plans.front().rows_sent = 1024;
  ProgramSamples samples = read_log().of("fine");
  for (ModeSamples& mode : samples.modes) mode.rows = 2048;
  const std::vector<std::string> cool = words(table_rows(program, samples), "cool");
  REQUIRE(cool.size() > 13);
  CHECK(cool[2] == "1024x8192x2048");
  // 2 * 2048 * 8192 * 2048 in 100 us.
  CHECK(cool[12] == "687");
}

TEST_CASE("head and rows have the same columns") {
  const std::string head = table_head(context(), read_log().machine(), 100), row = rows("fine");
  const llvm::StringRef columns = llvm::StringRef(head).rtrim('\n').rsplit('\n').second;
  CHECK(columns.find("reference") == llvm::StringRef(row).find("nvjet_128x256"));
}

TEST_CASE("no speed for a wrong result") {
  for (const char* name : {"wrong", "broken", "hangs"}) {
    CHECK_THAT(rows(name), Contains("no time: "));
    CHECK(words(rows(name), "cool").empty());
  }
  CHECK_THAT(rows("wrong"), Contains("17 of 16384 elements of 'ours' differ from cublaslt"));
  CHECK_THAT(rows("broken"), Contains("cudaMalloc: out of"));
}

TEST_CASE("the whole operation beside the sequence") {
  CHECK(words(rows("ends"), "overlap") ==
        std::vector<std::string>{"overlap",  "ends",        "4096x8192x2048",
                                 "bf16",     "tn",          "gemm_all_reduce/4",
                                 "nccl",     "panel",       "3g",
                                 "128+32/2", "0",           "80.0",
                                 "100.0",    "60.0",        "40.0",
                                 "1.250",    "1.250-1.250", "90.5",
                                 "3.43",     "0.50",        "-",
                                 "-",        "-",           "-",
                                 "-"});
  const std::vector<std::string> steady = words(rows("ends"), "steady");
  REQUIRE(steady.size() == 25);
  CHECK(std::vector<std::string>(steady.begin() + 11, steady.end()) ==
        std::vector<std::string>{"75.0", "93.8", "-", "-", "1.250", "1.250-1.250", "-", "-", "-",
                                 "-", "-", "-", "-", "-"});
}

TEST_CASE("PyTorch stands beside the whole operation, against its own sequence") {
  BenchLog log = read_log();
  ModeSamples torch;
  torch.mode = "torch";
  torch.us = {{"fused", {88, 88, 92}}, {"sequence", {110, 110, 115}}};
  log.add_mode("ends", torch);
  const std::string text = table_rows(make_program("ends"), log.of("ends"));
  CHECK(words(text, "torch").empty());
  const std::vector<std::string> overlap = words(text, "overlap"), steady = words(text, "steady");
  REQUIRE(overlap.size() == 25);
  // 88 us are 1.25 times as fast as 110 and take 1.1 times as long as our 80.
  CHECK(std::vector<std::string>(overlap.end() - 3, overlap.end()) ==
        std::vector<std::string>{"88.0", "1.250", "1.100"});
  CHECK(steady.back() == "-");
  CHECK_THAT(table_foot({make_program("ends")}, log),
             Contains("torch      fused vs sequence  1.250"));
}

TEST_CASE("the rows of whole operations have a head of their own") {
  BenchContext context_of_ranks = context();
  context_of_ranks.end_to_end = true;
  const std::string head = table_head(context_of_ranks, read_log().machine(), 100);
  const std::vector<std::string> columns = words(head, "#overlap");
  CHECK(overlap_head().size() == overlap_row(make_program("ends"), read_log().of("ends"),
                                             *read_log().of("ends").mode("overlap"))
                                         .size() +
                                     1);
  CHECK_THAT(head, Contains("coll us"));
  CHECK(table_head(context(), read_log().machine(), 100).find("#overlap") == std::string::npos);
  CHECK_FALSE(columns.empty());
}

TEST_CASE("notes follow their row") {
  CHECK_THAT(rows("ranks"), Contains("#   ranks: the operation wants 4 GPUs"));
  HarnessProgram silu = make_program("fine");
  silu.plans[0].epilogue = TILEPOST_SILU;
  CHECK_THAT(table_rows(silu, read_log().of("fine")), Contains("cuBLASLt lacks this epilogue"));
}

TEST_CASE("the foot has geometric means per mode and counts what failed") {
  const std::string foot = table_foot(programs(), read_log());
  // cool: 1.02 and 0.95.
  CHECK_THAT(foot, Contains("cool       ours vs cublaslt   0.984, least 0.950, 2 points"));
  CHECK_THAT(foot, Contains("sustained  ours vs cublaslt   1.020, least 1.020, 1 point\n"));
  CHECK_THAT(foot, Contains("overlap    ours vs sequence   1.250"));
  CHECK_THAT(foot, Contains("# FAIL: 3 of 6 points not measured"));
  CHECK(table_foot({make_program("fine")}, read_log()).find("FAIL") == std::string::npos);
}

TEST_CASE("JSON has every number, and none of a wrong result") {
  const std::string text = bench_json(context(), programs(), read_log());
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(text);
  REQUIRE(static_cast<bool>(value));
  const llvm::json::Object& root = *value->getAsObject();
  CHECK(root.getString("revision") == "0123456789ab");
  CHECK(root.getObject("machine")->getString("driver") == "580.82.07");
  const llvm::json::Array& points = *root.getArray("points");
  REQUIRE(points.size() == std::size(kNames));
  const llvm::json::Object& fine = *points[0].getAsObject();
  CHECK(fine.getBoolean("measured") == true);
  CHECK(fine.getObject("plan")->getInteger("stages") == 4);
  const llvm::json::Object& cool = *(*fine.getArray("modes"))[0].getAsObject();
  CHECK(cool.getObject("us")->getObject("ours")->getNumber("median") == 100);
  CHECK(cool.getObject("us")->getObject("plain")->getInteger("n") == 5);
  CHECK(cool.getObject("ratios")->getObject("signal on vs off")->getNumber("p90") == Approx(0.99));
  for (const int failed : {1, 2, 5}) {
    CHECK(points[failed].getAsObject()->getBoolean("measured") == false);
    CHECK(points[failed].getAsObject()->getArray("modes")->empty());
  }
  CHECK(points[1].getAsObject()->getInteger("wrong") == 17);
}
