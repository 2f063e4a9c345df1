#include "tests/unit/weave/weave_kernel.h"

namespace tilepost {
namespace {

const std::string kKernel = R"(__global__ void gemm(float* c) {
  tilepost::out(c, kUsed, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)";
const std::string kWovenKernel =
    R"(__global__ void gemm(float* c, const __grid_constant__ View view_) {
  tilepost::woven::out(view_, c, kUsed, 0, 1) = 1;
  tilepost::woven::tile_done(view_, {}, tilepost::BlockStores{});
}
)";

// The part of `before` that is kept in front of a kernel that uses kUsed.
std::string kept(const std::string& before, const std::string& after = "") {
  const std::string body = woven_body(before + kKernel + after);
  const size_t end = body.find(kWovenKernel);
  REQUIRE(end != std::string::npos);
  return body.substr(0, end) + body.substr(end + kWovenKernel.size());
}

}  // namespace

TEST_CASE("declarations stay with their comments or go with them") {
  CHECK(kept(R"(// Of the file.

// About kUsed.
constexpr int kUsed = 1;  // at its end
                          // and below

// About kDropped.
constexpr int kDropped = 2;

/* Also dropped. */ struct Dropped {};

// Floats above the kernel.

// Kernel.
)") == R"(// Of the file.

// About kUsed.
constexpr int kUsed = 1;  // at its end
                          // and below

// Floats above the kernel.

// Kernel.
)");
}

TEST_CASE("what a kept declaration needs is kept") {
  const std::string needed = R"(enum Rows { kFirst, kSecond };
struct Shape {
  static constexpr int size() { return kSecond; }
  int area() const;
};
using Other = Shape;
template <class T>
struct Traits {};
template <>
struct Traits<Other> {
  static constexpr int value = Other::size();
};
template <class T>
concept Small = sizeof(T) < 64;
template <Small T>
constexpr int pick() {
  return Traits<T>::value;
}
inline int Shape::area() const { return 0; }
constexpr int kUsed = pick<Shape>();
static_assert(kUsed == 1);
)";
  CHECK(kept(needed) == needed);
}

TEST_CASE("names in attributes and pragmas are uses") {
  CHECK(
      woven_body(R"(constexpr int kThreads = 128;
constexpr int kCluster = 2;
constexpr int kDepth = 4;
constexpr int kNothing = 4;
__global__ void __launch_bounds__(kThreads, 1) __cluster_dims__(kCluster, 1, 1) gemm(float* c) {
#pragma unroll kDepth
  for (int i = 0; i < 4; ++i) tilepost::out(c, i, 0, 1) = 1;
  tilepost::tile_done({}, tilepost::BlockStores{});
}
)")
          .find("constexpr int kThreads = 128;\nconstexpr int kCluster = 2;\nconstexpr int kDepth "
                "= 4;\n__global__ void __launch_bounds__(kThreads, 1)") == 0);
}

TEST_CASE("host code, other kernels and explicit instantiations are left behind") {
  CHECK(kept("constexpr int kUsed = 1;\n", R"(
__global__ void other(float* c) { *c = 0; }
template <class T> __global__ void generic(T* c) { *c = 0; }
template __global__ void generic<float>(float*);
int main() {
  gemm<<<1, 32>>>(nullptr);
  other<<<1, 32>>>(nullptr);
}
)") == "constexpr int kUsed = 1;\n");
}

TEST_CASE("a template kernel loses its explicit instantiations") {
  CHECK(woven_body(R"(template <class T>
__global__ void gemm(T* c) {
  tilepost::out(c, 0, 0, 1) = T{};
  tilepost::tile_done({}, tilepost::BlockStores{});
}
template __global__ void gemm<float>(float*);
extern template __global__ void gemm<int>(int*);
)") == R"(template <class T>
__global__ void gemm(T* c, const __grid_constant__ View view_) {
  tilepost::woven::out(view_, c, 0, 0, 1) = T{};
  tilepost::woven::tile_done(view_, {}, tilepost::BlockStores{});
}
)");
}

TEST_CASE("namespaces stay around what is kept in them") {
  CHECK(kept(R"(namespace detail {

constexpr int kInside = 1;
constexpr int kUnused = 1;

}  // namespace detail

namespace empty {
constexpr int kNothing = 1;
}
namespace a::b {
constexpr int kDeep = detail::kInside;
}
constexpr int kUsed = a::b::kDeep;
)") == R"(namespace detail {

constexpr int kInside = 1;

}  // namespace detail

namespace a::b {
constexpr int kDeep = detail::kInside;
}
constexpr int kUsed = a::b::kDeep;
)");
}

TEST_CASE("preprocessor lines stay around what is kept") {
  CHECK(kept(R"(#pragma once
#include <cuda_bf16.h>
#define ONE 1
#define TWO (ONE + 1)
#define THREE 3
#ifdef ALTERNATIVE
constexpr int kUsed = ONE;
#else
constexpr int kUsed = TWO;
#endif
#ifdef NOTHING
constexpr int kNothing = 0;
#endif
)") == R"(#define ONE 1
#define TWO (ONE + 1)
#ifdef ALTERNATIVE
constexpr int kUsed = ONE;
#else
constexpr int kUsed = TWO;
#endif

#undef ONE
#undef TWO
)");
}

TEST_CASE("a branch that is not taken keeps what it names") {
  CHECK(kept(R"(constexpr int kOther = 2;
#ifdef ALTERNATIVE
constexpr int kUsed = kOther;
#else
constexpr int kUsed = 1;
#endif
)")
            .find("constexpr int kOther = 2;") == 0);
}

TEST_CASE("what is dropped may hide marks and use any name") {
  CHECK(kept("constexpr int kUsed = 1;\n", R"(
struct View {};
#ifdef PLAIN
int main() { return tilepost::tunable("X", 1); }
#endif
)") == "constexpr int kUsed = 1;\n");
}

TEST_CASE("line ends of another system are understood") {
  std::string source =
      "#include <tilepost/mark.cuh>\n\n// One.\nconstexpr int kUsed = 1;\n" + kKernel;
  const std::string plain = weave_kernel(request_for(source)).body;
  for (size_t at = 0; (at = source.find('\n', at)) != std::string::npos; at += 2) {
    source.replace(at, 1, "\r\n");
  }
  CHECK(weave_kernel(request_for(source)).body == plain);
}

TEST_CASE("names asked for are kept") {
  WeaveRequest request = request_for(
      "#include <tilepost/mark.cuh>\nconstexpr int kUsed = 1;\n"
      "constexpr int kThreads = 128;\n" +
      kKernel);
  request.keep = {"kThreads"};
  CHECK(weave_kernel(request).body ==
        "constexpr int kUsed = 1;\nconstexpr int kThreads = 128;\n" + kWovenKernel);
  request.keep = {"kThread"};
  CHECK(
      refusal(request).find("'kThread' is not declared at namespace scope, but the generated code "
                            "needs it, did you mean 'kThreads'?") != std::string::npos);
}

TEST_CASE("includes come sorted, without the marks") {
  WeaveRequest request = request_for(
      "#include <tilepost/plan.h>\n#include <cstdint>\n#include <tilepost/mark.cuh>\n"
      "#include <cstdint>\nconstexpr int kUsed = 1;\n" +
      kKernel);
  CHECK(weave_kernel(request).includes ==
        std::vector<std::string>{"<cstdint>", "<tilepost/plan.h>"});
}

}  // namespace tilepost
