#include "tests/bench/sample.h"

using namespace bench_test;

TEST_CASE("samples arrive under their program, mode and variant") {
  const BenchLog log = read_log();
  const ProgramSamples& fine = log.of("fine");
  REQUIRE(fine.modes.size() == 2);
  CHECK(fine.modes[0].mode == "cool");
  CHECK(fine.modes[1].mode == "sustained");
  REQUIRE(fine.modes[0].us.size() == 3);
  CHECK(fine.modes[0].us.at("ours") == std::vector<double>{98, 100, 101, 99, 102});
  CHECK(fine.modes[0].mhz.size() == 5);
  CHECK((fine.modes[0].candidates == 8 && fine.modes[0].fastest == 2));
  CHECK(fine.modes[0].cublas_kernels == "nvjet_128x256");
  CHECK(fine.checks.size() == 6);
  CHECK(log.machine().getInteger("sms") == 132);
}

TEST_CASE("what has no measurement says so") {
  const BenchLog log = read_log();
  CHECK(log.of("fine").ok());
  CHECK(log.of("ranks").ok());
  CHECK(log.of("ends").ok());
  CHECK_FALSE(log.of("wrong").ok());
  CHECK(log.of("wrong").wrong() == 17);
  CHECK_FALSE(log.of("broken").ok());
  CHECK(log.of("broken").failure == "cudaMalloc: out of \"memory\"");
  CHECK_FALSE(log.of("hangs").ok());
  CHECK_FALSE(log.of("never started").ok());
}

TEST_CASE("a wrong result outlives any number of samples") {
  BenchLog log;
  std::string program;
  const auto take = [&](const std::string& line) { log.take(line, program); };
  take(R"({"record": "check", "program": "p", "variant": "ours", "against": "x", "elements": 9,
          "wrong": 1})");
  take(R"({"record": "check", "program": "p", "variant": "plain", "against": "x", "elements": 9,
          "wrong": 0})");
  take(R"({"record": "sample", "program": "p", "mode": "cool", "us": {"ours": 1}})");
  take(R"({"record": "end", "program": "p"})");
  CHECK_FALSE(log.of("p").ok());
}

TEST_CASE("a check of whole operations says whose memory the output was made in") {
  BenchLog log;
  std::string program;
  log.take(
      R"({"record": "check", "program": "p", "variant": "overlap", "against": "x", "out": "own",
               "elements": 9, "wrong": 0})",
      program);
  REQUIRE(log.of("p").checks.size() == 1);
  CHECK(log.of("p").checks[0].out == "own");
  CHECK_THAT(bench_json({}, {make_program("p")}, log), Catch::Contains("\"out\": \"own\""));
  CHECK(read_log().of("fine").checks[0].out.empty());
}

TEST_CASE("what is no record is left out") {
  BenchLog log;
  std::string program;
  for (const char* line : {"", "{", "[1]", "NCCL INFO x", "{}", R"({"record": 5})",
                           R"({"record": "sample", "program": "p"})"})
    CHECK_NOTHROW(log.take(line, program));
  log.take(R"({"record": "failed", "program": "", "text": "no GPU"})", program);
  CHECK(log.failure() == "no GPU");
}
