// Large shapes are proven in seconds. Inference gives up a kernel that takes too long.
#include "tests/catch.h"
#include "tests/infer/case.h"

namespace tilepost {
namespace {

InferCase at_shape(const std::string& file, int64_t m, int64_t n) {
  InferCase kernel = read_case(std::string(TILEPOST_INFER_FOLDER) + "/accepted/" + file);
  KernelFacts facts = kernel.shapes[0];
  const auto tiles = [&](int axis, int64_t size) {
    return (size + facts.tile[axis] - 1) / facts.tile[axis];
  };
  facts.m = m;
  facts.n = facts.out_ld = n;
  facts.k = 8192;
  facts.grid = {tiles(1, n), tiles(0, m), 1};
  facts.numbers = {{"M", m}, {"N", n}, {"K", 8192}};
  kernel.shapes = {facts};
  return kernel;
}

}  // namespace

TEST_CASE("a large shape is proven in seconds") {
  for (const char* file : {"float4_macro.cu", "naive_2d.cu", "warp_tiles.cu"}) {
    const InferResult result = infer_case(at_shape(file, 8192, 8192));
    INFO(file << " took " << result.seconds << " s\n" << result.messages);
    CHECK(result.inferred);
    CHECK(result.seconds < 10);  // on a machine that does other work too
    UNSCOPED_INFO(result.seconds);
  }
}

TEST_CASE("a kernel of very many lines is given up with a reason") {
  std::string source =
      "// tile: 16 16\n// threads: 16 16\n"
      "__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K) {\n"
      "  int x = 0;\n";
  for (int i = 0; i < 40000; ++i) source += "x+=M;\n";
  source += "  C[x] = 1;\n}\n";
  const InferResult result = infer_case(make_case("long", source));
  CHECK(!result.inferred);
  CHECK(!result.messages.empty());
}

}  // namespace tilepost
