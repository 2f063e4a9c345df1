// Every kernel in this folder is refused with exactly the errors it names.
//
// A file states them in order, one per line: `// expect: <part of the output>`. A line
// `// tunable: NAME=literal` sets a tunable, a line `// waits` says that A arrives while the kernel
// runs, a line `// stores` that tiles go to other ranks' memory, `// tasks` that helper warps
// have tasks, `// sources` that it adds other ranks' tiles to its own, `// exchanges` that kernels
// exchange tiles, `// gathers` rows of A. The kernel is called `gemm`.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "generator/diagnostic_printer.h"
#include "generator/weave/weave.h"
#include "llvm/Support/raw_ostream.h"
#include "tests/catch.h"

namespace tilepost {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> refused_kernels() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(TILEPOST_REFUSE_FOLDER)) {
    const std::string name = entry.path().filename().string();
    const bool kernel = entry.path().extension() == ".cu" || entry.path().extension() == ".cpp";
    if (kernel && name != "test_refuse_kernels.cpp") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string read_file(const fs::path& path) {
  std::ifstream stream(path);
  REQUIRE(stream);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// What follows `marker` on each line that starts with it.
std::vector<std::string> lines_after(const std::string& text, const std::string& marker) {
  std::vector<std::string> found;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind(marker, 0) == 0) found.push_back(line.substr(marker.size()));
  }
  return found;
}

size_t count(const std::string& text, const std::string& part) {
  size_t number = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++number;
  return number;
}

void check_refused(const fs::path& path) {
  WeaveRequest request;
  request.file = path.filename().string();
  request.source = read_file(path);
  request.function = "gemm";
  request.view_type = "View";
  request.cuda = path.extension() == ".cu";
  request.waits = !lines_after(request.source, "// waits").empty();
  request.stores = !lines_after(request.source, "// stores").empty();
  request.fused = !lines_after(request.source, "// fused").empty();
  request.sources = !lines_after(request.source, "// sources").empty();
  request.spreads = !lines_after(request.source, "// spreads").empty();
  request.tasks = !lines_after(request.source, "// tasks").empty();
  request.reads_own = request.tasks && request.waits;
  request.exchanges_parts = !lines_after(request.source, "// exchanges").empty();
  request.gathers = !lines_after(request.source, "// gathers").empty();
  for (const std::string& line : lines_after(request.source, "// tunable: ")) {
    const size_t equals = line.find('=');
    request.tunables[line.substr(0, equals)] = line.substr(equals + 1);
  }

  std::string messages;
  llvm::raw_string_ostream stream(messages);
  DiagnosticPrinter diagnostics(stream);
  CHECK(!weave(request, diagnostics));

  const std::vector<std::string> expected = lines_after(request.source, "// expect: ");
  REQUIRE(!expected.empty());
  INFO(request.file << " got:\n" << messages);
  size_t at = 0;
  size_t errors = 0;
  for (const std::string& part : expected) {
    INFO("expected: " << part);
    const size_t found = messages.find(part, at);
    REQUIRE(found != std::string::npos);
    at = found + part.size();
    errors += count(part, "error: ");
  }
  CHECK(static_cast<size_t>(diagnostics.errors()) == errors);
}

}  // namespace

TEST_CASE("kernels that cannot be woven are refused at the place, with the reason") {
  const std::vector<fs::path> files = refused_kernels();
  CHECK(files.size() >= 40);
  for (const fs::path& file : files) {
    SECTION(file.filename().string()) {
      check_refused(file);
    }
  }
}

}  // namespace tilepost
