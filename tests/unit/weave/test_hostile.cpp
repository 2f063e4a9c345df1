// Sources that are no kernels are refused. None of them crashes the weaver.
#include <random>

#include "generator/diagnostic_printer.h"
#include "generator/resources.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/unit/weave/weave_kernel.h"

namespace tilepost {
namespace {

// Weaves `source` without checking the woven text. There must be either an error or a result.
void survive(const std::string& source) {
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  DiagnosticPrinter diagnostics(stream);
  WeaveRequest request = request_for(source);
  request.function = "gemm_sm80";
  const bool woven = weave(request, diagnostics).has_value();
  CHECK(woven == diagnostics.ok());
}

std::string bundled_source() {
  const auto source = find_resource("templates/gemm_sm80.cu");
  REQUIRE(source);
  return source->str();
}

}  // namespace

TEST_CASE("a truncated kernel is refused or woven") {
  const std::string source = bundled_source();
  for (size_t i = 0; i < 25; ++i) survive(source.substr(0, source.size() * i / 25));
}

TEST_CASE("a kernel with parts cut out, doubled or overwritten is refused or woven") {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    std::string source = bundled_source();
    const size_t at = random() % source.size();
    const size_t length = random() % 60;
    if (round % 3 == 0) source.erase(at, length);
    if (round % 3 == 1) source.insert(at, source.substr(at, length));
    if (round % 3 == 2) source[at] = static_cast<char>(random());
    survive(source);
  }
}

TEST_CASE("deep nesting, long lines, odd bytes") {
  survive(std::string(100000, '('));
  survive(std::string(100000, '{'));
  survive("int x = " + std::string(1000000, '1') + ";");
  survive(std::string("int x;\0int y;", 13));
  survive("\xef\xbb\xbfint x; // \xff\xfe\n");
  survive("#if\n#else\n#else\n#endif\n#endif\n");
  const auto repeated = [](const std::string& part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  for (const int times : {4000, 100000}) {
    survive("int x = " + repeated("1+", times) + "1;");
    survive("bool x = " + repeated("!", times) + "1;");
    survive("int x = " + repeated("1?1:", times) + "1;");
    survive("int " + repeated("*", times) + "x;");
    survive("void f(int a) {" + repeated("if (a) {} else ", times) + ";}");
    survive(repeated("#if 1\n", times));
    survive("#if " + repeated("(", times));
  }
  survive(repeated("int x;", 1000));
  survive("#include \"kernel.cu\"\n");
  survive("#define A A A\nA\n#pragma\n#\n");
  survive("/* never closed");
  survive("const char* s = R\"(never closed");
}

}  // namespace tilepost
