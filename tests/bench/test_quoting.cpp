#include "generator/bench/records.h"
#include "runtime/bench/record.h"
#include "tests/catch.h"

using namespace tilepost;

TEST_CASE("the harness's strings arrive as they were") {
  for (const char* text :
       {"", "plain", "a \"quoted\" word", "back\\slash", "two\nlines\ttab", "cudaMalloc → error"}) {
    BenchLog log;
    std::string program;
    log.take(R"({"record": "failed", "program": "p", "text": )" + bench::quoted(text) + "}",
             program);
    CHECK(log.of("p").failure == text);
  }
}
