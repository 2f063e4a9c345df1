// Kernels without marks, woven from requests that were not checked as a spec is.
#include "generator/clang/toolkit.h"
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

// Weaves `source`, whose kernel `gemm` has the parameters c and m.
Unmarked weave_unmarked(const std::string& source, const char* arch = "sm_90a",
                        bool one_arch = true, int threads = 32, const std::string& toolkit = "",
                        const char* asked = "gemm") {
  UnmarkedRequest request;
  request.threads = {threads, 1, 1};
  if (!toolkit.empty()) request.reading.full.emplace().toolkit = toolkit;
  request.reading.arch = arch;
  request.one_arch = one_arch;
  request.source = OneFile("kernel.cu", source);
  request.reading.asked = asked;
  request.kernel = "woven_gemm";
  request.block = {"column", "row", "0"};
  request.grid = {"columns", "rows", "1"};
  request.arguments = {{"m", "shape.m"}};
  request.memory = {{"c", "c"}};
  request.out = "c";
  Unmarked result;
  llvm::raw_string_ostream stream(result.messages);
  DiagnosticPrinter diagnostics(stream);
  result.woven = weave_unmarked(request, diagnostics);
  return result;
}

// A kernel in which `condition`, on line 3, chooses between two lines.
std::string with_condition(const std::string& condition) {
  return "#define SIZE 16\n__global__ void gemm(float* c, int m) {\n#if" + condition +
         "\n  c[blockIdx.x] = m;\n#else\n  c[blockIdx.x] = 0;\n#endif\n}\n";
}

}  // namespace

TEST_CASE("a kernel without marks is told its block") {
  const Unmarked result =
      weave_unmarked("__global__ void gemm(float* c, int m) { c[blockIdx.x] = m; }\n");
  INFO(result.messages);
  REQUIRE(result.woven);
  CHECK_THAT(result.woven->body,
             Catch::Contains("gemm(const ::uint3 blockIdx, const ::dim3 gridDim, float* c"));
}

TEST_CASE("the names that the kernel is asked for by are kept") {
  const Unmarked result = weave_unmarked(
      "template <int kSize>\nstruct Tile {\n  static constexpr int size = kSize;\n};\n"
      "using Small = Tile<4>;\nconstexpr int kLeft = 3;\nconstexpr int kRight = 5;\n"
      "template <class T, int kShift>\n__global__ void gemm(float* c, int m) {\n"
      "  c[blockIdx.x * T::size] = m << kShift;\n}\n",
      "sm_90a", true, 32, "", "gemm<Small, kLeft>");
  INFO(result.messages);
  REQUIRE(result.woven);
  CHECK_THAT(result.woven->body, Catch::Contains("using Small = Tile<4>;") &&
                                     Catch::Contains("kLeft = 3") && !Catch::Contains("kRight"));
}

TEST_CASE("what a macro instantiates in front of a closing brace is left out") {
  const Unmarked result = weave_unmarked(
      "namespace lib {\ntemplate <class T>\nvoid start(T) {}\n"
      "__global__ void gemm(float* c, int m) { c[blockIdx.x] = m; }\n"
      "#define MAKE(T) template void start<T>(T);\nMAKE(int)\nMAKE(float)  // both\n}\n",
      "sm_90a", true, 32, "", "lib::gemm");
  INFO(result.messages);
  REQUIRE(result.woven);
  CHECK_THAT(result.woven->body, Catch::Contains("namespace lib {") && !Catch::Contains("MAKE"));
}

TEST_CASE("what the host does where the kernel is left out is not the kernel's") {
  const Unmarked result = weave_unmarked(
      "#define ON 1\n#if ON\n__global__ void gemm(float* c, int m) { c[blockIdx.x] = m; }\n"
      "inline void launch(float* c, int m) { gemm<<<m, 1>>>(c, m); }\n#else\n"
      "inline void launch(float*, int) {}\n#endif\n");
  INFO(result.messages);
  REQUIRE(result.woven);
  CHECK_THAT(result.woven->body, !Catch::Contains("<<<"));
}

TEST_CASE("a macro that hides the block's place is refused") {
  for (const char* name : {"blockIdx", "gridDim"}) {
    const Unmarked result = weave_unmarked("#define " + std::string(name) +
                                           " blockDim\n__global__ void gemm(float* c, int m) { c[" +
                                           name + ".x + threadIdx.x] = m; }\n");
    CHECK(!result.woven);
    CHECK_THAT(result.messages, Catch::Contains("kernel.cu:1:1: error: a macro of the name '" +
                                                std::string(name) + "' hides"));
  }
}

TEST_CASE("a parameter that nothing is given to is no zero") {
  const Unmarked result =
      weave_unmarked("__global__ void gemm(float* c, int m, int q) { c[blockIdx.x] = m + q; }\n");
  CHECK(!result.woven);
  CHECK_THAT(result.messages, Catch::Contains("kernel.cu:1:43: error: nothing is given to "
                                              "parameter 'q'"));
}

TEST_CASE("conditions that the file decides stay as they are") {
  for (const char* condition : {" SIZE == 16", "def SIZE", " defined(SIZE) && SIZE > 8", " 1",
                                "def __CUDACC__", " defined(__NVCC__)", "def __cplusplus"}) {
    const Unmarked result = weave_unmarked(with_condition(condition), "sm_90a", false);
    INFO(condition << "\n" << result.messages);
    REQUIRE(result.woven);
    CHECK(!result.woven->by_arch);
    CHECK(result.woven->body.find("#error") == std::string::npos);
  }
}

TEST_CASE("conditions on what nobody defines are for that alone") {
  for (const char* condition : {" DEBUG", "def DEBUG", "ndef DEBUG", " SIZE == 16 && !DEBUG"}) {
    const Unmarked result = weave_unmarked(with_condition(condition));
    INFO(condition << "\n" << result.messages);
    REQUIRE(result.woven);
    CHECK(result.woven->body.find("#ifdef DEBUG\n#error \"woven_gemm was generated from ") == 0);
  }
  // A condition on whether a macro is defined.
  const std::string code =
      "#ifndef TILE\n#define TILE 16\n#endif\n"
      "__global__ void gemm(float* c, int m) { c[blockIdx.x * TILE] = m; }\n";
  const Unmarked result = weave_unmarked(code);
  INFO(result.messages);
  REQUIRE(result.woven);
  CHECK(result.woven->body.find("#ifdef TILE\n#error") == 0);
  // The kernel does not need these lines.
  const Unmarked other = weave_unmarked(with_condition(" 1") +
                                        "#if DEBUG && CUDART_VERSION > 12\nint debug;\n#endif\n");
  INFO(other.messages);
  REQUIRE(other.woven);
  CHECK(other.woven->body.find("#error") == std::string::npos);
}

TEST_CASE("conditions on what another compiler, toolkit or header decides are refused") {
  for (const char* condition :
       {" CUDART_VERSION >= 12000", " __CUDACC_VER_MAJOR__ > 11", " __cplusplus > 201703L",
        " __has_include(<cuda.h>)", "def __GNUC__", " defined(__clang__)", "def __CUDA__",
        " SIZE == 16 && defined(__GNUC__)"}) {
    const Unmarked result = weave_unmarked(with_condition(condition));
    INFO(condition << "\n" << result.messages);
    CHECK(!result.woven);
    CHECK_THAT(result.messages, Catch::StartsWith("kernel.cu:3:") &&
                                    Catch::Contains("error: lines of the kernel depend on '"));
    CHECK(result.messages.find("error: ", result.messages.find("error: ") + 1) ==
          std::string::npos);
  }
  const Unmarked hidden =
      weave_unmarked("#define NEW (CUDART_VERSION > 12000)\n" + with_condition(" NEW"));
  CHECK(!hidden.woven);
  CHECK_THAT(hidden.messages, Catch::StartsWith("kernel.cu:4:5: error: lines of the kernel depend "
                                                "on 'CUDART_VERSION'"));
}

TEST_CASE("lines for a version of nvcc are for that of the toolkit that is read") {
  std::string looked;
  const std::optional<std::string> toolkit = find_toolkit(looked);
  if (!toolkit) return;  // without a toolkit they are refused, as the case before checks
  const ToolkitVersion version = version_of_toolkit(*toolkit);
  REQUIRE(version.major >= 11);
  const Unmarked result =
      weave_unmarked(with_condition(" __CUDACC_VER_MAJOR__ == " + std::to_string(version.major)),
                     "sm_90a", true, 32, *toolkit);
  INFO(result.messages);
  REQUIRE(result.woven);
  CHECK_THAT(result.woven->body,
             Catch::StartsWith("#if __CUDACC_VER_MAJOR__ != " + std::to_string(version.major) +
                               " || __CUDACC_VER_MINOR__ != " + std::to_string(version.minor) +
                               "\n#error \"woven_gemm was generated from "));
  const Unmarked build =
      weave_unmarked(with_condition(" __CUDACC_VER_BUILD__ > 1"), "sm_90a", true, 32, *toolkit);
  CHECK(!build.woven);
}

TEST_CASE("values of the compiler's are refused in the code") {
  for (const char* value : {"__LINE__", "__cplusplus", "__COUNTER__", "CUDART_VERSION", "VALUE"}) {
    const Unmarked result = weave_unmarked(
        std::string("#define VALUE __LINE__\n__global__ void gemm(float* c, int m) {\n  c[") +
        value + "] = m;\n}\nint line = __LINE__;\n");
    INFO(value << "\n" << result.messages);
    CHECK(!result.woven);
    CHECK_THAT(result.messages,
               Catch::StartsWith("kernel.cu:3:5: error: the kernel has the value of '"));
  }
  CHECK(weave_unmarked("#include <climits>\n__global__ void gemm(float* c, int m) {\n"
                       "  if (m < INT_MAX) c[blockIdx.x] = m;\n}\n")
            .woven);
  CHECK(weave_unmarked("#define UNROLLED _Pragma(\"unroll\")\n"
                       "__global__ void gemm(float* c, int m) {\n"
                       "  UNROLLED for (int i = 0; i < 4; ++i) c[blockIdx.x * 4 + i] = m;\n"
                       "  _Pragma(\"unroll 2\") for (int i = 0; i < 4; ++i) c[i] = m;\n}\n")
            .woven);
}

TEST_CASE("lines for an architecture are read for that, and for one alone") {
  const std::string in_code =
      "__global__ void gemm(float* c, int m) {\n"
      "  if (__CUDA_ARCH__ < 900) c[blockIdx.x] = m;\n}\n";
  for (const std::string& source :
       {with_condition(" __CUDA_ARCH__ >= 900"), with_condition("def __CUDA_ARCH_FEAT_SM90_ALL"),
        "#define IS_NEW (__CUDA_ARCH__ >= 900)\n" + with_condition(" IS_NEW"), in_code})
    for (const char* arch : {"sm_80", "sm_90a"}) {
      const Unmarked result = weave_unmarked(source, arch);
      INFO(source << "\n" << result.messages);
      REQUIRE(result.woven);
      CHECK(result.woven->by_arch);
      const Unmarked several = weave_unmarked(source, arch, false);
      CHECK(!several.woven);
      CHECK_THAT(several.messages, Catch::Contains("the kernel depends on the architecture here"));
    }
}

TEST_CASE("a name of the block's place that is the kernel's own is refused") {
  const char* const kernels[] = {
      "__global__ void gemm(float* c, int m, dim3 gridDim) { c[blockIdx.x] = m; }\n",
      "__global__ void gemm(float* c, int m) { unsigned blockIdx = m; c[blockIdx] = m; }\n",
      "__device__ int at(int m) { int x = blockIdx.x, gridDim = m; return x + gridDim; }\n"
      "__global__ void gemm(float* c, int m) { c[at(m)] = m; }\n",
      "__device__ int place() { return blockIdx.x; }\n"
      "__device__ int at(int gridDim) { return place() + gridDim; }\n"
      "__global__ void gemm(float* c, int m) { c[at(m)] = m; }\n",
      "namespace lib {\n__device__ int gridDim = 7;\n"
      "__global__ void gemm(float* c, int m) { c[blockIdx.x] = gridDim; }\n}\nusing lib::gemm;\n",
      "struct Place {\n  int gridDim;\n  __device__ int at() { return blockIdx.x + gridDim; }\n};\n"
      "__global__ void gemm(float* c, int m) { c[Place{m}.at()] = m; }\n",
      "__device__ int at(int m) { enum { gridDim = 3 }; return blockIdx.x + gridDim; }\n"
      "__global__ void gemm(float* c, int m) { c[at(m)] = m; }\n",
      "struct Pair {\n  int a, b;\n};\n__global__ void gemm(float* c, int m) {\n"
      "  auto [gridDim, other] = Pair{m, m};\n  c[blockIdx.x] = gridDim;\n}\n"};
  for (const char* source : kernels) {
    const Unmarked result = weave_unmarked(source);
    INFO(source << result.messages);
    CHECK(!result.woven);
    CHECK_THAT(result.messages, Catch::Contains("is declared here, the name by which"));
  }
  const Unmarked told = weave_unmarked(
      "__device__ int at(uint3 blockIdx) { return blockIdx.x; }\n"
      "__global__ void gemm(float* c, int m) { c[at(blockIdx)] = m; }\n");
  INFO(told.messages);
  CHECK(told.woven);
}

TEST_CASE("a macro's parameter that hides the block's place is refused") {
  const Unmarked result = weave_unmarked(
      "#define AT(blockIdx) at(blockIdx.x)\n"
      "__device__ int at(int m) { return blockIdx.x + m; }\n"
      "__global__ void gemm(float* c, int m) { c[AT(threadIdx)] = m; }\n");
  INFO(result.messages);
  CHECK(!result.woven);
  CHECK_THAT(result.messages, Catch::Contains("a macro of the name 'blockIdx' hides what"));
}

TEST_CASE("types of CUDA's names do not become those of the block's place") {
  const Unmarked result = weave_unmarked(
      "struct Grid {\n  using dim3 = unsigned;\n"
      "  __device__ static dim3 at(dim3 m) { return blockIdx.x + m; }\n};\n"
      "__global__ void gemm(float* c, int m) { c[Grid::at(m)] = m; }\n");
  INFO(result.messages);
  REQUIRE(result.woven);
  CHECK_THAT(result.woven->body,
             Catch::Contains("at(const ::uint3 blockIdx, const ::dim3 gridDim, dim3 m)"));
}

TEST_CASE("a function that is told its block is not mistaken for another of its name") {
  for (const char* other : {"__device__ int at(uint3 block, dim3 grid, long m) { return m; }\n",
                            "template <class T, class U>\n"
                            "__device__ int at(T a, U b, T c) { return 0; }\n"}) {
    const Unmarked result = weave_unmarked(
        "__device__ int at(int m) { return blockIdx.x + m; }\n" + std::string(other) +
        "__global__ void gemm(float* c, int m) { c[at(m) + at(blockIdx, blockIdx, blockIdx)] = m; "
        "}\n");
    INFO(result.messages);
    CHECK(!result.woven);
  }
  const Unmarked told = weave_unmarked(
      "__device__ int at(int m) { return blockIdx.x + m; }\n"
      "__device__ int at(const float* c, int m) { return m; }\n"
      "__global__ void gemm(float* c, int m) { c[at(m) + at(c, m)] = m; }\n");
  INFO(told.messages);
  CHECK(told.woven);
}

TEST_CASE("a function of the file does not hide a header's of its name") {
  const Unmarked result = weave_unmarked(
      "struct Half {\n  short bits;\n  __device__ Half(int m) : bits(m) {}\n};\n"
      "__device__ Half max(Half a, Half b) { return a.bits < b.bits ? b : a; }\n"
      "__global__ void gemm(float* c, int m) { c[blockIdx.x] = max(2049, m) + max(Half(1), "
      "Half(m)).bits; }\n");
  INFO(result.messages);
  REQUIRE(result.woven);
  CHECK_THAT(result.woven->body,
             Catch::Contains("namespace user {\n\nusing ::max;\n\nstruct Half"));
  const Unmarked alone = weave_unmarked(
      "__device__ int scale(int m) { return 2 * m; }\n"
      "__global__ void gemm(float* c, int m) { c[blockIdx.x] = max(2049, scale(m)); }\n");
  INFO(alone.messages);
  REQUIRE(alone.woven);
  CHECK_THAT(alone.woven->body, !Catch::Contains("using ::"));
}

TEST_CASE("the file's own names are not looked for in the global scope") {
  for (const char* use : {"::scale(m)", "::lib::scale(m)", "::Scaled{m}.m", "::most<int>(m)"}) {
    const Unmarked result = weave_unmarked(
        "struct Scaled {\n  int m;\n};\n__device__ int scale(int m) { return 2 * m; }\n"
        "template <class T>\n__device__ T most(T m) { return m; }\n"
        "namespace lib {\n__device__ int scale(int m) { return 2 * m; }\n}\n"
        "__global__ void gemm(float* c, int m) { c[blockIdx.x] = " +
        std::string(use) + "; }\n");
    INFO(use << "\n" << result.messages);
    CHECK(!result.woven);
    CHECK_THAT(result.messages, Catch::Contains("leave out the first '::'"));
  }
  const Unmarked other = weave_unmarked(
      "__global__ void gemm(float* c, int m) { ::uint3 block = blockIdx; c[block.x] = ::max(m, 1); "
      "}\n");
  INFO(other.messages);
  CHECK(other.woven);
}

TEST_CASE("what the text says of itself is refused") {
  for (const char* value : {"__builtin_LINE()", "line()", "sizeof(__PRETTY_FUNCTION__)",
                            "sizeof(__FILE__)", "kLine", "sizeof(long double)"}) {
    const Unmarked result = weave_unmarked(
        "constexpr __device__ int line(int l = __builtin_LINE()) { return l; }\n"
        "constexpr int kLine = __builtin_LINE();\n"
        "__global__ void gemm(float* c, int m) { c[blockIdx.x] = " +
        std::string(value) + "; }\n");
    INFO(value << "\n" << result.messages);
    CHECK(!result.woven);
    CHECK_THAT(result.messages, Catch::Contains("the kernel has the value of '"));
  }
  const Unmarked name = weave_unmarked(
      "__global__ void gemm(float* c, int m) { c[blockIdx.x] = sizeof(__func__); }\n");
  INFO(name.messages);
  CHECK(name.woven);
}

TEST_CASE("variables that generated code would not set are refused") {
  for (const char* variable : {"__constant__ float scale[4];", "__device__ float scale[4];",
                               "extern __constant__ float scale[4];"}) {
    const Unmarked result =
        weave_unmarked(std::string(variable) +
                       "\n__device__ float of(int i) { return scale[i]; }\n"
                       "__global__ void gemm(float* c, int m) { c[blockIdx.x] = of(m & 3); }\n");
    INFO(variable << "\n" << result.messages);
    CHECK(!result.woven);
    CHECK_THAT(result.messages, Catch::Contains("nothing in generated code sets 'scale'"));
  }
  const Unmarked set = weave_unmarked(
      "__constant__ float scale[2] = {1, 2};\n__device__ float unused;\n"
      "__global__ void gemm(float* c, int m) { __shared__ float s[2]; c[blockIdx.x] = scale[m & 1] "
      "+ s[0]; }\n");
  INFO(set.messages);
  CHECK(set.woven);
}

TEST_CASE("the register of the block's index is refused") {
  const Unmarked result = weave_unmarked(
      "struct Place {\n  int x;\n  __device__ Place() : x(__nvvm_read_ptx_sreg_ctaid_x()) {}\n};\n"
      "__global__ void gemm(float* c, int m) { c[blockIdx.x] = Place().x; }\n");
  CHECK(!result.woven);
  CHECK_THAT(result.messages, Catch::Contains("kernel.cu:3:26: error: the register of the block's "
                                              "index is read here"));
}

TEST_CASE("a woven kernel has the bounds of registers that it needs") {
  const auto bounds = [](const char* attributes, int threads) {
    return weave_unmarked(std::string("__global__ void ") + attributes +
                              " gemm(float* c, int m) { c[blockIdx.x] = m; }\n",
                          "sm_90a", true, threads)
        .woven.value()
        .body;
  };
  CHECK_THAT(bounds("__maxnreg__(128)", 256), Catch::Contains("void __maxnreg__(128) woven_gemm") &&
                                                  !Catch::Contains("__forceinline__ __maxnreg__"));
  // 1024 threads have 64 registers each at most, whatever the author allows.
  CHECK_THAT(bounds("__maxnreg__(128)", 1024), Catch::Contains("void __maxnreg__(64) woven_gemm"));
  CHECK_THAT(bounds("", 256), Catch::Contains("__global__ void woven_gemm"));
  CHECK_THAT(bounds("", 512), Catch::Contains("__global__ void __launch_bounds__(512) woven_gemm"));
  CHECK_THAT(bounds("__launch_bounds__(1024)", 512),
             Catch::Contains("__global__ void __launch_bounds__(1024) woven_gemm"));
}

}  // namespace tilepost
