// Faults of the generator itself: they name the kernel and its line, and end nothing else.
#include <csignal>
#include <stdexcept>

#include "generator/clang/guard/faults.h"
#include "generator/clang/instantiate.h"
#include "generator/silent_diagnostics.h"
#include "tests/catch.h"

namespace tilepost {
namespace {

constexpr char kKernel[] =
    "#include <cuda_fp16.h>\n"
    "__global__ void gemm(half* c) {\n"
    "  c[0] = __float2half(1);\n"
    "}\n";

// What is said of a fault in `use`, which looks at the kernel.
std::string said(llvm::function_ref<void(Parsed&, const Instance&)> use) {
  SilentDiagnostics silent;
  Reading reading;
  reading.asked = "gemm";
  try {
    read_function(OneFile("kernel.cu", kKernel), reading, silent, use);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a signal while a kernel is read is named with the kernel's line") {
  CHECK(said([](Parsed&, const Instance&) { std::raise(SIGSEGV); }) ==
        "kernel.cu:2, where 'gemm' is read: signal 11 (Segmentation fault)");
  CHECK(said([](Parsed&, const Instance&) {
          note_place(std::string_view(kKernel).find("c[0]"));
          std::abort();
        }) == "kernel.cu:3, where 'gemm' is read: signal 6 (Aborted)");
}

TEST_CASE("an exception while a kernel is read is named with the kernel's line") {
  CHECK(said([](Parsed&, const Instance&) { throw std::logic_error("lost"); }) ==
        "kernel.cu:2, where 'gemm' is read: lost");
  const auto run_out = [](Parsed&, const Instance&) { throw std::bad_alloc(); };
  CHECK(said(run_out) == std::bad_alloc().what());
}

TEST_CASE("behind a fault signals mean what they meant, and kernels are read") {
  struct sigaction before = {}, after = {};
  sigaction(SIGSEGV, nullptr, &before);
  said([](Parsed&, const Instance&) { std::raise(SIGSEGV); });
  sigaction(SIGSEGV, nullptr, &after);
  CHECK(before.sa_handler == after.sa_handler);
  bool read = false;
  CHECK(said([&](Parsed&, const Instance&) { read = true; }).empty());
  CHECK(read);
}

}  // namespace tilepost
