// The function that a spec asks for is found and instantiated, and its parameters are spelled.
#include "generator/clang/instantiate.h"
#include "generator/clang/limits.h"
#include "generator/diagnostic_printer.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/catch.h"

namespace tilepost {
namespace {

// The result of find_instance for `asked` in `source`: a line for each parameter, or the messages.
std::string found(const std::string& source, const std::string& asked,
                  llvm::function_ref<void(const Instance&)> use = nullptr) {
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  DiagnosticPrinter diagnostics(stream);
  Report report(diagnostics, OneFile("kernel.cu", source));
  Reading reading;
  reading.asked = asked;
  std::string lines;
  const Text text(source);
  if (!check_asked(asked, report)) return messages;
  do_on_large_stack([&] {
    parse(text, reading, report, [&](Parsed& parsed) {
      const auto instance = find_instance(parsed, reading);
      if (!instance) return;
      for (const Parameter& parameter : instance->parameters) {
        lines += parameter.declared + (parameter.grid_constant ? ", a grid constant\n" : "\n");
      }
      if (use) use(*instance);
    });
  });
  return messages.empty() ? lines : messages;
}

std::string first_line(const std::string& source, const std::string& asked) {
  const std::string all = found(source, asked);
  return all.substr(0, all.find('\n'));
}

constexpr char kTemplate[] = R"(#include <cuda_fp16.h>
#include <cstdint>
namespace lib {
namespace {
struct Scale { float factor; };
}
template <int M, int N = 4, class T = float>
__global__ void gemm(const T* __restrict__ a, T* const c, const uint32_t m, Scale scale) {
  c[threadIdx.x] = a[M * N] * scale.factor;
}
}
)";

}  // namespace

TEST_CASE("an instantiation is found in its namespace") {
  const auto check_body = [](const Instance& instance) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    instance.function->print(stream);
    CHECK(stream.str().find("a[128 * 4]") != std::string::npos);
    CHECK(instance.function != instance.written);
    CHECK(instance.written->isDependentContext());
  };
  CHECK(found(kTemplate, "lib::gemm<128>", check_body) ==
        "const float *__restrict a\nfloat *c\nunsigned int m\nlib::Scale scale\n");
  CHECK(found(kTemplate, "lib::gemm<64, 2 , __half>") ==
        "const __half *__restrict a\n__half *c\nunsigned int m\nlib::Scale scale\n");
}

TEST_CASE("a plain function, extern C, without names of parameters, with arrays") {
  CHECK(found("extern \"C\" __global__ void gemm(const float (*a)[4], float [], int) {}", "gemm") ==
        "const float (*a)[4]\nfloat *argument1\nint argument2\n");
  CHECK(found("__global__ void gemm(); __global__ void gemm() {}", "::gemm") == "");
  CHECK(found("template <class T, T... v> struct Box {};\n"
              "__global__ void gemm(Box<int, 1, 2> b, void (*f)(int), float4 q) {}",
              "gemm") == "Box<int, 1, 2> b\nvoid (*f)(int)\nfloat4 q\n");
}

TEST_CASE("a grid constant is known by its word") {
  CHECK(found("struct Map {};\n"
              "__global__ void gemm(const __grid_constant__ Map a, __grid_constant__ const Map b,\n"
              "                     const Map c) {}",
              "gemm") == "Map a, a grid constant\nMap b, a grid constant\nMap c\n");
}

TEST_CASE("a function that is not there, or not one") {
  CHECK(found(kTemplate, "lib::gem<128>") ==
        "tilepost: error: kernel.cu: function 'lib::gem<128>': no template named 'gem' in "
        "namespace 'lib'; did you mean 'gemm'?\n");
  const std::string parameters =
      ": the template has the parameters <int M, int N = 4, class T = float>, and ";
  const auto said = [&](const std::string& asked, const std::string& why) {
    return "tilepost: error: kernel.cu: function '" + asked + "'" + parameters + why + "\n";
  };
  const std::string too_few = "give one for each parameter that has no default";
  CHECK(found(kTemplate, "lib::gemm") == said("lib::gemm", "0 are given; " + too_few));
  CHECK(found(kTemplate, "lib::gemm<1, 2, float, (3 > 2)>") ==
        said("lib::gemm<1, 2, float, (3 > 2)>", "4 are given; " + too_few));
  CHECK(found(kTemplate, "lib::gemm<float, 2>") ==
        said("lib::gemm<float, 2>",
             "the arguments do not fit them; give a type for a type and a "
             "value for a value, as its declaration asks for"));
  CHECK(found("__global__ void gemm(int) {}\n__global__ void gemm(float) {}", "gemm") ==
        "tilepost: error: kernel.cu: function 'gemm': it means several functions; give one "
        "overload a name of its own, or name one instantiation of a template, with a value for "
        "each parameter that has no default\n");
  CHECK(first_line("__global__ void gemm();", "gemm") ==
        "kernel.cu:1:17: error: 'gemm' is declared here, but not defined in what is read");
  CHECK(first_line("void gemm() {}", "gemm") ==
        "kernel.cu:1:6: error: 'gemm' is not a kernel; declare it __global__");
  for (const char* asked :
       {"", "gemm; int x", "gemm\n", "1", "gemm{}", "gemm // x", "<1>", "a\\"}) {
    CHECK(found("__global__ void gemm() {}", asked).find("is no name of a function") !=
          std::string::npos);
  }
}

TEST_CASE("the source's own errors come first") {
  CHECK(first_line("__global__ void gemm() {\n  if (true) {\n}\n", "gemm") ==
        "kernel.cu:3:2: error: expected '}'");
  CHECK(first_line("__global__ void gemm() {}\n/* no end", "gemm") ==
        "kernel.cu:2:1: error: unterminated /* comment");
  CHECK(found("__global__ void gemm() {} // \\", "gemm").empty());
  CHECK(first_line("template <class T> __global__ void gemm(T* c) { c->x = 1; }", "gemm<int>") ==
        "kernel.cu:1:50: error: member reference base type 'int' is not a structure or union");
}

TEST_CASE("the first error of Clang's says who reads kernels") {
  const std::string comma = found(
      "__global__ void gemm(int a) {\n"
      "  asm volatile(\"add.s32 %0, %1, %2;\" : \"=r\"(a) : \"r\"(a) \"r\"(a));\n  a = b;\n}",
      "gemm");
  CHECK_THAT(comma, Catch::Contains("kernel.cu:2:57: note: a comma is missing between operands"));
  const std::string unknown =
      found("__global__ void gemm(int a) {\n  a = b;\n  a = b2;\n}", "gemm");
  const std::string note = "note: kernels are read with Clang, which says this";
  CHECK_THAT(unknown, Catch::Contains("kernel.cu:2:7: " + note));
  CHECK(unknown.find(note) == unknown.rfind(note));
}

TEST_CASE("types that cannot be written elsewhere are refused") {
  CHECK(first_line("template <class T> __global__ void gemm(T t) {}\nauto f = [](int) {};",
                   "gemm<decltype(f)>") ==
        "kernel.cu:1:43: error: the type of parameter 't' has no name outside of its place, but "
        "generated code must write it; name the type");
  CHECK(first_line("template <class... T> __global__ void gemm(T... t) {}", "gemm<int, int>") ==
        "kernel.cu:1:49: error: parameter pack 't' stands for several parameters of one name; "
        "name each");
}

}  // namespace tilepost
