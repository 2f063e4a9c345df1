#include "tests/unit/weave/weave_kernel.h"

namespace tilepost {
namespace {

// A kernel that uses what `declarations` declare.
std::string with_kernel(const std::string& declarations, const std::string& use) {
  return "#include <tilepost/mark.cuh>\n" + declarations +
         "__global__ void gemm(float* c) {\n  tilepost::out(c, 0, 0, 1) = " + use +
         ";\n  tilepost::tile_done({}, tilepost::BlockStores{});\n}\n";
}

std::string folded(const std::string& declarations, const std::string& use,
                   std::map<std::string, std::string> tunables) {
  WeaveRequest request = request_for(with_kernel(declarations, use));
  request.tunables = std::move(tunables);
  const std::string body = weave_kernel(request).body;
  return body.substr(0, body.find("\n__global__"));
}

}  // namespace

TEST_CASE("a tunable becomes the plan's literal") {
  CHECK(folded("constexpr int kA = tilepost::tunable(\"A\", 64);\n", "kA", {{"A", "128"}}) ==
        "constexpr int kA = 128;");
  CHECK(folded("constexpr int kA = tilepost::tunable(\"A\", 64);\n", "kA", {{"A", "-3"}}) ==
        "constexpr int kA = -3;");
}

TEST_CASE("a tunable the plan does not name keeps its fallback, with tunables inside it") {
  CHECK(folded("constexpr int kA = tilepost::tunable(\"A\", 64);\n", "kA", {}) ==
        "constexpr int kA = 64;");
  CHECK(folded("constexpr int kA = tilepost::tunable(\"A\", tilepost::tunable(\"B\", 4) * 2);\n",
               "kA", {{"B", "8"}}) == "constexpr int kA = 8 * 2;");
}

TEST_CASE("a value keeps its meaning next to operators") {
  CHECK(folded("constexpr int kA = 8 -tilepost::tunable(\"A\", 1 + 1);\n", "kA", {}) ==
        "constexpr int kA = 8 - (1 + 1);");
  CHECK(folded("constexpr int kA = 8-tilepost::tunable(\"A\", 1);\n", "kA", {{"A", "-1"}}) ==
        "constexpr int kA = 8 - (-1);");
}

TEST_CASE("a value keeps its type") {
  CHECK(folded("constexpr auto kA = tilepost::tunable(\"A\", 64u);\n", "kA", {{"A", "32"}}) ==
        "constexpr auto kA = 32u;");
  CHECK(folded("constexpr bool kA = tilepost::tunable(\"A\", true);\n", "kA", {{"A", "0"}}) ==
        "constexpr bool kA = false;");
  CHECK(folded("constexpr auto kA = tilepost::tunable(\"A\", tilepost::DType::bf16);\n", "int(kA)",
               {{"A", "tilepost::DType::f16"}}) == "constexpr auto kA = tilepost::DType::f16;");
}

TEST_CASE("tunables fold in macros and templates") {
  CHECK(folded("#define CONSTANT(type, name, value) constexpr type k##name = "
               "tilepost::tunable(#name, value)\n"
               "CONSTANT(int, A, 4);\n",
               "kA", {{"A", "4"}})
            .find("tilepost::tunable") == std::string::npos);
  CHECK(folded("template <class T>\nconstexpr T kA = tilepost::tunable(\"A\", T(1));\n", "kA<int>",
               {{"A", "4"}}) == "template <class T>\nconstexpr T kA = 4;");
}

TEST_CASE("a wrong value of a tunable is refused where it is declared") {
  WeaveRequest request =
      request_for(with_kernel("constexpr int kA = tilepost::tunable(\"A\", 64);\n", "kA"));
  request.tunables["A"] = "tilepost::DType::f16";
  CHECK(refusal(request).find("kernel.cu:2:20: error: tunable 'A' is of type 'int' here, which "
                              "'tilepost::DType::f16' is no value of") == 0);
  request.tunables["A"] = "3000000000";
  CHECK(refusal(request).find("'3000000000' is no value of") != std::string::npos);
}

TEST_CASE("a number the kernel's own assertions reject is reported in the user's text") {
  WeaveRequest request =
      request_for(with_kernel("constexpr int kA = tilepost::tunable(\"A\", 64);\n"
                              "static_assert(kA % 64 == 0, \"A is a multiple of 64\");\n",
                              "kA"));
  request.tunables["A"] = "100";
  const std::string messages = refusal(request);
  CHECK(messages.find("kernel.cu:3:15: error: ") == 0);
  CHECK(messages.find("A is a multiple of 64") != std::string::npos);
}

}  // namespace tilepost
