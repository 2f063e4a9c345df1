// ?:, && and || whose result the plan's numbers decide.
#include "tests/unit/weave/weave_kernel.h"

namespace tilepost {
namespace {

// The woven text of `before` and a kernel of `statements`. kOn and kOff are tunables.
std::string folded(const std::string& before, const std::string& statements) {
  return woven_body(
      "constexpr bool kOn = tilepost::tunable(\"ON\", true);\n"
      "constexpr bool kOff = tilepost::tunable(\"OFF\", false);\n" +
      before + "__global__ void gemm(float* c, int n) {\n" + statements +
      "  tilepost::out(c, 0, 0, 1) = n;\n"
      "  tilepost::tile_done({}, tilepost::BlockStores{});\n}\n");
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The woven statements of a kernel that does not use kOn and kOff elsewhere.
std::string statements(const std::string& code) {
  const std::string head = "view_) {\n", tail = "  tilepost::woven::out(";
  const std::string body = folded("", code);
  const size_t begin = body.find(head) + head.size();
  return body.substr(begin, body.find(tail) - begin);
}

}  // namespace

TEST_CASE("a choice on a constant becomes the operand taken, and its constants go") {
  CHECK(statements("  n = kOn ? n + 1 : n - 1;\n") == "  n = n + 1;\n");
  CHECK(statements("  n = kOff ? n + 1 : n - 1;\n") == "  n = n - 1;\n");
  CHECK(!has(folded("", "  n = kOn && !kOff ? n + 1 : n - 1;\n"), "kO"));
}

TEST_CASE("choices among choices go as far as they are constant") {
  CHECK(statements("  n = kOff ? 1 : kOn ? n * 2 : 3;\n") == "  n = n * 2;\n");
  CHECK(statements("  n = kOn ? kOff ? 1 : n * 2 : 3;\n") == "  n = n * 2;\n");
  CHECK(statements("  n = n > 1 ? (kOn ? n : 2) : kOff ? 4 : 5;\n") == "  n = n > 1 ? n : 5;\n");
  CHECK(statements("  n = kOn ? (n > 1 ? n : 2) : 3;\n") == "  n = (n > 1 ? n : 2);\n");
}

TEST_CASE("parentheses stay where the operand needs them") {
  CHECK(statements("  n = 2 * (kOn ? n + 1 : 3);\n") == "  n = 2 * (n + 1);\n");
  CHECK(statements("  n = 2 * (kOff ? n + 1 : n);\n") == "  n = 2 * n;\n");
  CHECK(statements("  n = 2 - (kOn ? -n : n);\n") == "  n = 2 - (-n);\n");
  CHECK(statements("  n = kOn ? ++n, n + 1 : 2;\n") == "  n = (++n, n + 1);\n");
  CHECK(statements("  n = sizeof(kOn ? n : 1);\n") == "  n = sizeof(n);\n");
}

TEST_CASE("what the operand not taken would do is not done") {
  CHECK(statements("  n = kOn ? n : ++n;\n") == "  n = n;\n");
  CHECK(statements("  kOff ? void(++n) : void(--n);\n") == "  void(--n);\n");
}

TEST_CASE("a condition that does something stays") {
  const std::string code = "  n = (++n, kOn) ? 1 : 2;\n";
  CHECK(statements(code) == code);
}

TEST_CASE("choices in template arguments and constants are folded, and what they named goes") {
  const std::string body = folded(
      "constexpr int kA = kOn ? 1 : 2;\n"
      "constexpr int kB = 7;\n"
      "constexpr int kC = kOff ? kB : 4;\n"
      "template <int kCount>\n"
      "__device__ int times(int n) {\n"
      "  return n * kCount;\n"
      "}\n"
      "static_assert(kB == (kOn ? 7 : 8));\n",
      "  n = times<kOff ? kA : kC>(n);\n");
  CHECK(has(body, "times<kC>(n)"));
  CHECK(has(body, "constexpr int kC = 4;\n"));
  CHECK(!has(body, "kA"));
  CHECK(!has(body, "kB"));
  CHECK(!has(body, "kO"));
}

TEST_CASE("functions that only a dropped operand calls are dropped") {
  const std::string body = folded(
      "__device__ int slow(int n) { return n + 1; }\n"
      "__device__ int fast(int n) { return n + 2; }\n",
      "  n = kOff ? slow(n) : fast(n);\n");
  CHECK(has(body, "  n = fast(n);\n"));
  CHECK(!has(body, "slow"));
}

TEST_CASE("an operand of another type, or that is referred to, stays as it is") {
  for (const char* code :
       {"  n = n / (kOn ? 2 : 2u);\n", "  const int& a = kOn ? n : 2;\n  n = a;\n",
        "  auto at = kOn ? 1.0f : 2;\n  n = at + (kOff ? 1.0 : n);\n"}) {
    const std::string kept = statements(code);
    CHECK(has(kept, "kOn ? ") + has(kept, "kOff ? ") > 0);
  }
  CHECK(statements("  decltype(kOn ? n : 2) a = n;\n  n = a;\n") ==
        "  decltype(kOn ? n : 2) a = n;\n  n = a;\n");
}

TEST_CASE("what macros write is left alone") {
  const std::string macros = "#define ON kOn\n#define PICK(a, b) (kOn ? a : b)\n";
  CHECK(has(folded(macros, "  n = ON ? n : 2;\n"), "n = ON ? n : 2;"));
  CHECK(has(folded(macros, "  n = PICK(n, 2);\n"), "n = PICK(n, 2);"));
  CHECK(has(folded(macros, "  if (ON && n > 1) --n;\n"), "if (ON && n > 1)"));
  CHECK(has(folded(macros, "  n = kOff ? 1 : PICK(n, 2);\n"), "kOff ? 1 : PICK"));
  // Macros inside an operand do not matter.
  CHECK(has(folded(macros, "  n = kOff ? 1 : PICK(n, 2) + 1;\n"), "n = PICK(n, 2) + 1;"));
}

TEST_CASE("choices that depend on a template parameter stay") {
  CHECK(has(folded("template <bool kUp>\n"
                   "__device__ int one(int n) {\n"
                   "  return kUp ? n + 1 : n - (kOn ? 2 : 3);\n"
                   "}\n",
                   "  n = one<true>(n);\n"),
            "return kUp ? n + 1 : n - 2;"));
}

TEST_CASE("a constant that decides nothing goes from && and ||") {
  CHECK(statements("  if (kOn && n > 1) --n;\n") == "  if (n > 1) --n;\n");
  CHECK(statements("  if (n > 1 && kOn) --n;\n") == "  if (n > 1) --n;\n");
  CHECK(statements("  const bool a = n > 1 || kOff;\n  n = a;\n") ==
        "  const bool a = n > 1;\n  n = a;\n");
  CHECK(statements("  if (n > 3 || (kOn && n == 1)) --n;\n") == "  if (n > 3 || (n == 1)) --n;\n");
  // Both stay. In the first n is no bool. In the second kOff decides, but ++n has to be computed.
  for (const char* code : {"  if (kOn && n) --n;\n", "  if (++n > 1 && kOff) --n;\n"})
    CHECK(statements(code) == code);
}

TEST_CASE("locals that nobody names any more go, one with the other") {
  CHECK(statements("  const int a = n + 1;  // for b\n  const int b = a * 2;\n"
                   "  n = kOn ? n : b;\n") == "  n = n;\n");
  CHECK(
      statements("  // For a.\n  float sums[4];\n\n  if constexpr (kOff) n = sums[0];\n  --n;\n") ==
      "  --n;\n");
  CHECK(statements("  int a = n;\n  a = 2;\n  if constexpr (kOff) n = a;\n") ==
        "  [[maybe_unused]] int a = n;\n  a = 2;\n");
}

TEST_CASE("locals that do more than hold a value stay, and so do those that nobody named before") {
  CHECK(has(statements("  int (*self)(int) = nullptr;\n"), "(*self)(int) = nullptr;"));
  CHECK(has(statements("  const int a = ++n;\n  if constexpr (kOff) n = a;\n"), "= ++n;"));
  CHECK(has(statements("  __shared__ int a[4];\n  if constexpr (kOff) n = a[0];\n"),
            "__shared__ int a[4];"));
  CHECK(has(statements("  volatile int a = n;\n  if constexpr (kOff) n = a;\n"), "int a = n;"));
  CHECK(has(folded("__device__ int load(int n) { return n; }\n",
                   "  const int a = load(n);\n  if constexpr (kOff) n = a;\n"),
            "const int a = load(n);"));
}

TEST_CASE("what is kept of a branch without braces moves to where the if stood") {
  CHECK(statements("  if constexpr (kOn)\n    for (int i = 0; i < n; ++i) {\n      --n;\n"
                   "      // Why.\n      if (n == 3) {\n        --n;\n      }\n    }\n") ==
        "  for (int i = 0; i < n; ++i) {\n    --n;\n    // Why.\n    if (n == 3) {\n      --n;\n"
        "    }\n  }\n");
  CHECK(statements("  if (n) {\n    if constexpr (kOff)\n      ++n;\n    else\n"
                   "      while (n) {\n        --n;\n      }\n  }\n") ==
        "  if (n) {\n    while (n) {\n      --n;\n    }\n  }\n");
}

}  // namespace tilepost
