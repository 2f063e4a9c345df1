// Kernels that inference cannot prove. Each is refused with a reason at its line.
#include "tests/catch.h"
#include "tests/infer/case.h"

namespace tilepost {

TEST_CASE("kernels that cannot be proven are refused with the reason at its line") {
  const std::vector<std::string> files = case_files("refused");
  CHECK(files.size() >= 33);
  for (const std::string& file : files) {
    const InferCase kernel = read_case(file);
    const InferResult result = infer_case(kernel);
    INFO(file << "\n" << result.messages);
    CHECK(!result.inferred);
    CHECK(!kernel.expected.empty());
    for (const std::string& expected : kernel.expected) {
      const bool note = !isdigit(static_cast<unsigned char>(expected[0]));
      const std::string place =
          note ? "" : "kernel.cu:" + expected.substr(0, expected.find(':')) + ":";
      const std::string text = note ? expected : expected.substr(expected.find(':') + 2);
      size_t at = result.messages.find(text);
      const size_t line = at == std::string::npos ? 0 : result.messages.rfind('\n', at) + 1;
      CHECK(at != std::string::npos);
      CHECK(result.messages.compare(line, place.size(), place) == 0);
    }
  }
}

}  // namespace tilepost
