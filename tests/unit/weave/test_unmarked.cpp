// Kernels without marks, woven from requests that no spec has looked through.
#include "generator/diagnostic_printer.h"
#include "generator/weave/unmarked/weave_unmarked.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/catch.h"

namespace tilepost {
namespace {

struct Unmarked {
  std::optional<WovenKernel> woven;
  std::string messages;
};

// Weaves `source`, whose kernel `gemm` gets c and m.
Unmarked weave_unmarked(const std::string& source) {
  UnmarkedRequest request;
  request.file = "kernel.cu";
  request.source = source;
  request.reading.asked = "gemm";
  request.kernel = "woven_gemm";
  request.block = {"column", "row", "0"};
  request.grid = {"columns", "rows", "1"};
  request.arguments = {{"m", "shape.m"}};
  request.out = "c";
  Unmarked result;
  llvm::raw_string_ostream stream(result.messages);
  DiagnosticPrinter diagnostics(stream);
  result.woven = weave_unmarked(request, diagnostics);
  return result;
}

}  // namespace

TEST_CASE("a kernel without marks is told its block") {
  const Unmarked result =
      weave_unmarked("__global__ void gemm(float* c, int m) { c[blockIdx.x] = m; }\n");
  INFO(result.messages);
  REQUIRE(result.woven);
  CHECK_THAT(result.woven->body, Catch::Contains("gemm(const uint3 blockIdx, const dim3 gridDim, "
                                                 "float* c, int m)"));
}

TEST_CASE("a parameter that nothing is given to is no zero") {
  const Unmarked result =
      weave_unmarked("__global__ void gemm(float* c, int m, int q) { c[blockIdx.x] = m + q; }\n");
  CHECK(!result.woven);
  CHECK_THAT(result.messages, Catch::Contains("kernel.cu:1:43: error: nothing is given to "
                                              "parameter 'q'"));
}

}  // namespace tilepost
