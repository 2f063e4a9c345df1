// Headers that kernels may use without an installed toolchain.
#include "generator/clang/prelude.h"
#include "tests/unit/weave/weave_kernel.h"

namespace tilepost {
namespace {

// A marked kernel that includes every known header.
std::string with_all_headers(bool cuda) {
  std::string source = "#include <tilepost/mark.cuh>\n";
  for (const VirtualFile& header : stub_headers()) {
    if (is_known(header, cuda)) source += "#include <" + header.name.str() + ">\n";
  }
  return source + (cuda ? "__global__ " : "") + R"(void gemm(float* c) {
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)";
}

}  // namespace

TEST_CASE("all known headers are read together") {
  for (const bool cuda : {true, false}) {
    CAPTURE(cuda);
    WeaveRequest request = request_for(with_all_headers(cuda));
    request.cuda = cuda;
    weave_kernel(request);
  }
}

TEST_CASE("a kernel and the host code beside it print") {
  woven_body(R"(#include <cstdio>
#include <stdio.h>
__global__ void gemm(float* c, uint n) {
  if (n == 0) printf("nothing to do\n");
  tilepost::out(c, 0, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
void report() {
  std::printf("done\n");
  std::fprintf(stderr, "done\n");
}
)");
}

}  // namespace tilepost
