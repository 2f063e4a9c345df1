// Reads every spec in this folder and compares what is reported with the file beside it. A first
// line
// "# -D path=value …" gives overrides.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "generator/diagnostic_printer.h"
#include "generator/yaml/read_spec.h"
#include "tests/catch.h"

namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<tilepost::Override> overrides_of(const std::string& text) {
  std::vector<tilepost::Override> overrides;
  llvm::StringRef line = llvm::StringRef(text).split('\n').first;
  if (!line.consume_front("# -D ")) return overrides;
  llvm::SmallVector<llvm::StringRef> words;
  line.split(words, " -D ");
  for (const llvm::StringRef word : words)
    overrides.push_back({word.split('=').first.str(), word.split('=').second.str()});
  return overrides;
}

}  // namespace

TEST_CASE("every bad spec gets its errors") {
  std::vector<fs::path> cases;
  for (const fs::directory_entry& entry : fs::directory_iterator(CASES_DIR))
    if (entry.path().extension() == ".yaml") cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  REQUIRE(cases.size() >= 10);
  for (const fs::path& path : cases) {
    const std::string text = read_file(path);
    std::string log;
    {
      llvm::raw_string_ostream stream(log);
      tilepost::DiagnosticPrinter diagnostics(stream);
      const std::string name = path.filename().string();
      CHECK_FALSE(tilepost::read_spec(name, text, overrides_of(text), diagnostics).has_value());
    }
    const fs::path expected = fs::path(path).replace_extension(".stderr");
    if (std::getenv("TILEPOST_ACCEPT") != nullptr) std::ofstream(expected, std::ios::binary) << log;
    CAPTURE(path.string());
    CHECK(log == read_file(expected));
  }
}
