// Sources read with the CUDA Toolkit's headers. The cases pass with a note where there is no
// Toolkit.
#include <algorithm>
#include <iostream>

#include "generator/clang/instantiate.h"
#include "generator/clang/limits.h"
#include "generator/clang/toolkit.h"
#include "generator/diagnostic_printer.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/catch.h"

namespace tilepost {
namespace {

bool has_toolkit() {
  std::string looked;
  const bool found = find_toolkit(looked).has_value();
  if (!found) std::cout << "SKIPPED: no CUDA Toolkit; " << looked << "\n";
  return found;
}

struct Read {
  std::string messages;
  std::string parameters;  // one line for each
  std::vector<std::string> headers;
};

Read read(const std::string& source, const std::string& asked, FullMode full = {},
          const std::string& arch = "sm_90a") {
  Read result;
  llvm::raw_string_ostream stream(result.messages);
  DiagnosticPrinter diagnostics(stream);
  Report report(diagnostics, OneFile("kernel.cu", source));
  std::string looked;
  full.toolkit = find_toolkit(looked).value_or("");
  Reading reading;
  reading.asked = asked;
  reading.arch = arch;
  reading.full = full;
  const Text text(source);
  do_on_large_stack([&] {
    parse(text, reading, report, [&](Parsed& parsed) {
      result.headers = parsed.headers;
      const auto instance = find_instance(parsed, reading);
      if (!instance) return;
      for (const Parameter& parameter : instance->parameters) {
        result.parameters += parameter.declared + "\n";
      }
    });
  });
  return result;
}

bool any_ends(const std::vector<std::string>& paths, const std::string& end) {
  return std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& path) { return llvm::StringRef(path).ends_with(end); });
}

}  // namespace

TEST_CASE("main is not read, and no kernel is made for what it asks for") {
  if (!has_toolkit()) return;
  const std::string kernel =
      "template <class T> __global__ void gemm(T* c) {\n"
      "  static_assert(sizeof(T) == 4, \"four bytes\");\n"
      "  *c = 0;\n"
      "}\n";
  const Read result =
      read(kernel + "int main() { gemm<double><<<1, 1>>>(nullptr); }\n", "gemm<float>");
  CHECK(result.messages.empty());
  CHECK(result.parameters == "float *c\n");
  // Every other function is read.
  const Read other =
      read(kernel + "void run() { gemm<double><<<1, 1>>>(nullptr); }\n", "gemm<float>");
  CHECK(other.messages.find("four bytes") != std::string::npos);
}

TEST_CASE("asm that nvcc refuses may stand in a branch that is not compiled") {
  if (!has_toolkit()) return;
  const Read result = read(
      "template <bool kLast> __global__ void gemm(int* c) {\n"
      "  if constexpr (kLast) asm volatile(\"st.global.u32 [%0], %2;\" ::\"l\"(c), \"r\"(1));\n"
      "  else *c = 1;\n"
      "}\n",
      "gemm<false>");
  CHECK(result.messages.empty());
  CHECK(result.parameters == "int *c\n");
}

TEST_CASE("installed headers are read, and Clang's own from the tool") {
  if (!has_toolkit()) return;
  const Read result = read(R"(#include <cuda_bf16.h>
#include <mma.h>
#include <cuda/barrier>
#include <algorithm>
#include <vector>
template <int N, class T>
__global__ void __launch_bounds__(128) gemm(const __nv_bfloat16* a, T* c, size_t n) {
  __shared__ T tile[N];
  tile[threadIdx.x] = T(a[blockIdx.x * n]);
  __syncthreads();
  c[min(N, 4)] = tile[0];
}
int main() {
  const time_t now = time(nullptr);
  printf("%d %ld\n", std::max(1, 2), long(now));
  gemm<4, float><<<1, 128>>>(nullptr, nullptr, size_t{0});
  return cudaDeviceSynchronize() == cudaSuccess ? EXIT_SUCCESS : EXIT_FAILURE;
}
)",
                           "gemm<4, float>");
  CHECK(result.messages.empty());
  CHECK(result.parameters == "const __nv_bfloat16 *a\nfloat *c\nunsigned long n\n");
  CHECK(any_ends(result.headers, "/include/cuda_bf16.h"));
  CHECK(any_ends(result.headers, "/cuda/barrier"));
  CHECK(!any_ends(result.headers, "__clang_cuda_runtime_wrapper.h"));
  CHECK(std::is_sorted(result.headers.begin(), result.headers.end()));
}

TEST_CASE("definitions, the standard and the architecture are as asked") {
  if (!has_toolkit()) return;
  FullMode full;
  full.defines = {"TILE=64", "PLAIN"};
  full.standard = "c++20";
  for (const char* arch : {"sm_80", "sm_90a", "sm_100a"}) {
    const std::string number = std::to_string(std::stoi(std::string(arch).substr(3)) * 10);
    const Read result = read(
        "static_assert(TILE == 64 && PLAIN == 1 && __cplusplus >= 202002L);\n"
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != " +
            number + "\n#error wrong\n#endif\n__global__ void gemm() {}\n",
        "gemm", full, arch);
    CHECK(result.messages.empty());
  }
}

TEST_CASE("the user's errors are told in full mode too") {
  if (!has_toolkit()) return;
  CHECK(read("__global__ void gemm() { return 1; }\n", "gemm")
            .messages.find(
                "kernel.cu:1:26: error: void function 'gemm' should not return a value") == 0);
  CHECK(read("#include \"missing.h\"\n__global__ void gemm() {}\n", "gemm")
            .messages.find("kernel.cu:1:10: error: header 'missing.h' is neither beside the file "
                           "that includes it") == 0);
}

TEST_CASE("errors in what the kernel does not reach are left out") {
  if (!has_toolkit()) return;
  const std::string host = R"(#include <torch/extension.h>
torch::Tensor forward(torch::Tensor a) { return a; }
__device__ float broken(float x) { return x.missing; }
struct Used { float x; __device__ float twice() const { return 2 * x; } };
template <class T> __device__ float helper(T x) { return x.twice(); }
)";
  const Read left_out =
      read(host + "__global__ void gemm(float* c) { *c = helper(Used{1}); }\n", "gemm");
  CHECK(left_out.parameters == "float *c\n");
  CHECK(left_out.messages.find(
            "kernel.cu:1:10: warning: header 'torch/extension.h' is neither beside the file that "
            "includes it, nor in kernel.include_dirs, nor in the CUDA Toolkit; what "
            "needs it is not read") == 0);
  CHECK(left_out.messages.find("error") == std::string::npos);

  const Read reached =
      read(host + "__global__ void gemm(float* c) { *c = helper(1) + broken(1); }\n", "gemm");
  CHECK(reached.parameters.empty());
  CHECK(reached.messages.find("kernel.cu:3:44: error: member reference base type 'float'") !=
        std::string::npos);
  CHECK(reached.messages.find("kernel.cu:5:59: error: member reference base type 'int'") !=
        std::string::npos);
  CHECK(reached.messages.find("kernel.cu:2:") == std::string::npos);
}

TEST_CASE("errors in types that the kernel is asked for with are told") {
  if (!has_toolkit()) return;
  const std::string types = R"(struct Types { using Element = float; };
namespace mine { using Kernel = Types::Elemen; using Other = Types::Elemen; }
template <class T> __global__ void gemm(T* c) { *c = 1; }
)";
  const Read asked = read(types, "gemm<mine::Kernel>");
  CHECK(asked.parameters.empty());
  CHECK(asked.messages.find("kernel.cu:2:40: error: no type named 'Elemen' in 'Types'") !=
        std::string::npos);
  CHECK(asked.messages.find("kernel.cu:2:70: error") == std::string::npos);
  CHECK(read(types, "gemm<float>").parameters == "float *c\n");
}

TEST_CASE("what nvcc takes is taken where the kernel reaches it too") {
  if (!has_toolkit()) return;
  const Read result = read(R"(struct Barrier { int n; __device__ Barrier() : n(0) {} };
template <int N> __device__ void wait(int n = 1);
template <int N> __device__ void wait(int n = 1) {}
__global__ void gemm(float* c) {
  __shared__ alignas(128) float tile[32];
  __shared__ Barrier barrier;
  unsigned id;
  asm volatile("mov.u32 %0, %clusterid.x;" : "=r"(id));
  wait<1>();
  c[id] = tile[0] + barrier.n;
}
)",
                           "gemm");
  CHECK(result.messages.empty());
  CHECK(result.parameters == "float *c\n");
}

TEST_CASE("a folder without headers is no toolkit") {
  CHECK(!is_toolkit(""));
  CHECK(!is_toolkit("/nonexistent"));
}

}  // namespace tilepost
