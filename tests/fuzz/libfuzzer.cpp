// Tries inputs as fuzz_spec.cpp does, but with libFuzzer, which chooses inputs by the code that
// they reach. The environment variable TILEPOST_FUZZ_MODE says how far an input is taken: parse
// (the default), plan, explain or emit.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/fuzz/target.h"

namespace {

tilepost::fuzz::Mode chosen_mode() {
  const char* name = std::getenv("TILEPOST_FUZZ_MODE");
  const auto mode = tilepost::fuzz::find_mode(name == nullptr ? "parse" : name);
  if (mode) return *mode;
  std::fprintf(stderr, "TILEPOST_FUZZ_MODE must be parse, plan, explain or emit; got '%s'\n", name);
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tilepost::fuzz::Mode mode = chosen_mode();
  try {
    tilepost::fuzz::execute(mode, {reinterpret_cast<const char*>(data), size});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "finding: %s\n", error.what());
    std::abort();
  }
  return 0;
}
