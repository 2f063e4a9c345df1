// Random sequences of calls on the host target. TILEPOST_SEQUENCES is how many (default 50), and
// TILEPOST_FIRST_SEQUENCE is the first seed (default 1).
#include <cstdlib>

#include "runtime/harness/watchdog.h"
#include "tests/catch.h"
#include "tests/host/sequences/sequence.h"

namespace {

constexpr double kPatience = 100;  // seconds; the longest deadline is 60

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace

TEST_CASE("random sequences of calls end in time, and what succeeds is right") {
  const uint64_t first = number_from("TILEPOST_FIRST_SEQUENCE", 1);
  const uint64_t end = first + number_from("TILEPOST_SEQUENCES", 50);
  tilepost::harness::Watchdog watchdog;
  int compared = 0;
  for (uint64_t seed = first; seed < end; ++seed) {
    Sequence sequence(seed);
    const std::string what = "sequence " + std::to_string(seed) + ": " + sequence.describe();
    watchdog.arm(kPatience, "FAIL  " + what + "\n  did not end");
    const std::string wrong = sequence.play();
    watchdog.disarm();
    INFO(what);
    CHECK(wrong == "");
    compared += sequence.compared();
  }
  CHECK(compared > 0);
}
