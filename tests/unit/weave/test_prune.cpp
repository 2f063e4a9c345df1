#include "tests/unit/weave/weave_kernel.h"

namespace tilepost {
namespace {

// The body of a kernel made of `statements`, without what surrounds them.
std::string pruned(const std::string& statements) {
  const std::string head =
      "__global__ void gemm(float* c, int n, const __grid_constant__ View view_) {\n";
  const std::string tail =
      "  tilepost::woven::out(view_, c, 0, 0, 1) = kOn + kOff;\n"
      "  tilepost::woven::tile_done(view_, {}, tilepost::BlockStores{});\n}\n";
  const std::string body = woven_body(
      "constexpr bool kOn = tilepost::tunable(\"ON\", true);\n"
      "constexpr bool kOff = tilepost::tunable(\"OFF\", false);\n"
      "__global__ void gemm(float* c, int n) {\n" +
      statements +
      "  tilepost::out(c, 0, 0, 1) = kOn + kOff;\n"
      "  tilepost::tile_done({}, tilepost::BlockStores{});\n}\n");
  const size_t begin = body.find(head);
  REQUIRE(begin != std::string::npos);
  const size_t end = body.find(tail, begin);
  REQUIRE(end != std::string::npos);
  return body.substr(begin + head.size(), end - begin - head.size());
}

}  // namespace

TEST_CASE("the branch taken takes the place of the if") {
  CHECK(pruned("  if constexpr (kOn) {\n    ++n;\n    // Why.\n    --n;\n  }\n") ==
        "  ++n;\n  // Why.\n  --n;\n");
  CHECK(pruned("  if constexpr (kOff) {\n    ++n;\n  } else {\n    --n;\n  }\n") == "  --n;\n");
  CHECK(pruned("  if (kOn && !kOff)\n    ++n;\n  else\n    --n;\n") == "  ++n;\n");
  CHECK(pruned("  if constexpr (kOff) ++n;\n  else if constexpr (kOn) --n;\n  else n = 0;\n") ==
        "  --n;\n");
}

TEST_CASE("what is not taken goes with its comment and one empty line") {
  CHECK(pruned("  ++n;\n\n  // Only then.\n  if constexpr (kOff) ++n;  // so\n\n  --n;\n") ==
        "  ++n;\n\n  --n;\n");
  CHECK(pruned("  if (n) {\n    if constexpr (kOff) {\n      ++n;\n    }\n    --n;\n  }\n") ==
        "  if (n) {\n    --n;\n  }\n");
}

TEST_CASE("a branch of another statement stays one statement") {
  CHECK(pruned("  if (n) --n;\n  else if constexpr (kOff) ++n;\n") == "  if (n) --n;\n");
  CHECK(pruned("  for (; n; --n)\n    if constexpr (kOff) ++n;\n") == "  for (; n; --n) {\n  }\n");
  CHECK(pruned("  for (; n; --n)\n    if constexpr (kOn) ++n;\n") == "  for (; n; --n) ++n;\n");
}

TEST_CASE("nested constant conditions go in one pass") {
  CHECK(
      pruned(
          "  if constexpr (kOn) {\n    if constexpr (kOff) {\n      ++n;\n    } else {\n"
          "      if (kOn) {\n        --n;\n        for (;;) {\n        }\n      }\n    }\n  }\n") ==
      "  --n;\n  for (;;) {\n  }\n");
}

TEST_CASE("declarations keep their braces where a name would meet another") {
  CHECK(pruned("  if constexpr (kOn) {\n    int a = n;\n    n = a * 2;\n  }\n") ==
        "  int a = n;\n  n = a * 2;\n");
  CHECK(pruned("  if constexpr (kOn) {\n    int a = n;\n    n = a * 2;\n  }\n  int a = 1;\n"
               "  n += a;\n") ==
        "  {\n    int a = n;\n    n = a * 2;\n  }\n  int a = 1;\n"
        "  n += a;\n");
}

TEST_CASE("what is not constant, or can be jumped into, stays") {
  const std::string runtime = "  if (n == 0) {\n    ++n;\n  }\n";
  CHECK(pruned(runtime) == runtime);
  const std::string label = "  if (kOff) {\n  again:\n    ++n;\n  }\n  if (n < 9) goto again;\n";
  CHECK(pruned(label) == label);
  const std::string loop = "  while (kOn) {\n    ++n;\n  }\n";
  CHECK(pruned(loop) == loop);
}

TEST_CASE("conditions that depend on a template parameter stay") {
  const std::string woven = woven_body(R"(template <bool kAdd>
__device__ int one(int n) {
  if constexpr (kAdd) return n + 1;
  return n;
}
__global__ void gemm(float* c) {
  tilepost::out(c, one<true>(0), 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)");
  CHECK(woven.find("  if constexpr (kAdd) return n + 1;\n") != std::string::npos);
}

TEST_CASE("a local that is only written is marked unused") {
  CHECK(pruned("  int a = 0;\n  a = n;\n  if constexpr (kOff) n = a;\n") ==
        "  [[maybe_unused]] int a = 0;\n  a = n;\n");
  CHECK(pruned("  int a = 0;\n  n = a;\n") == "  int a = 0;\n  n = a;\n");
}

TEST_CASE("a helper that only a dropped branch calls is dropped") {
  const std::string woven = woven_body(R"(constexpr bool kSlow = tilepost::tunable("SLOW", false);
__device__ void slow(float* c) { tilepost::out(c, 0, 0, 1) = 2; }
__global__ void gemm(float* c) {
  if constexpr (kSlow) {
    slow(c);
  } else {
    tilepost::out(c, 0, 0, 1) = 1;
  }
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)");
  CHECK(woven == R"(__global__ void gemm(float* c, const __grid_constant__ View view_) {
  tilepost::woven::out(view_, c, 0, 0, 1) = 1;
  tilepost::woven::tile_done(view_, {}, tilepost::BlockStores{});
}
)");
}

}  // namespace tilepost
