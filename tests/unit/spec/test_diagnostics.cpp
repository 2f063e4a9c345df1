#include "generator/diagnostic_printer.h"

#include "tests/catch.h"

namespace {

using tilepost::DiagnosticPrinter;
using tilepost::did_you_mean;

tilepost::Place range(std::string_view text, size_t begin, size_t length) {
  const char* first = text.data() + begin;
  return {first, first + length};
}

// The text that is printed for one error at text[begin, begin + length).
std::string print(llvm::StringRef text, size_t begin, size_t length, bool color = false) {
  std::string log;
  llvm::raw_string_ostream stream(log);
  DiagnosticPrinter diagnostics(stream, color);
  const llvm::StringRef source = diagnostics.add_source("a.yaml", text);
  diagnostics.error(range(source, begin, length), "no good");
  return log;
}

size_t columns(llvm::StringRef line) {
  return static_cast<size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

TEST_CASE("an error shows place, line, caret and underline") {
  CHECK(print("a: 1\nbc: def\n", 9, 3) == "a.yaml:2:5: error: no good\nbc: def\n    ^~~\n");
  CHECK(print("a\r\nb\r\n", 3, 1) == "a.yaml:2:1: error: no good\nb\n^\n");
  CHECK(print("a\tb", 2, 1) == "a.yaml:1:3: error: no good\na b\n  ^\n");
  // The underline ends with the line.
  CHECK(print("ab\ncd", 1, 3) == "a.yaml:1:2: error: no good\nab\n ^\n");
}

TEST_CASE("an error at the end of the text or in an empty text is placed") {
  CHECK(print("ab", 2, 0) == "a.yaml:1:3: error: no good\nab\n  ^\n");
  CHECK(print("", 0, 0) == "a.yaml:1:1: error: no good\n");
  CHECK(print("ab\n", 3, 0) == "a.yaml:2:1: error: no good\n");
}

TEST_CASE("columns count code points under the line and bytes in the place") {
  CHECK(print("\u00e4\u00f6: x", 6, 1) == "a.yaml:1:7: error: no good\n\u00e4\u00f6: x\n    ^\n");
}

TEST_CASE("bytes that a terminal must not see are replaced") {
  CHECK(print(llvm::StringRef("\x1b[31m\0\xff", 7), 6, 1) ==
        "a.yaml:1:7: error: no good\n?[31m??\n      ^\n");
  std::string log;
  llvm::raw_string_ostream stream(log);
  DiagnosticPrinter diagnostics(stream);
  diagnostics.error("bad '\x1b[0m\n\xff'");
  CHECK(log == "tilepost: error: bad '\\x1b[0m\\x0a\\xff'\n");
}

TEST_CASE("a long line is cut around the caret") {
  const size_t at = GENERATE(size_t{0}, size_t{1}, size_t{79}, size_t{81}, size_t{5000},
                             size_t{9950}, size_t{9999});
  const bool wide = GENERATE(false, true);
  CAPTURE(at, wide);
  std::string text;
  for (int i = 0; i < 10000; ++i) text += i == static_cast<int>(at) ? "X" : wide ? "\u00e4" : "a";
  const std::string log = print(text, text.find('X'), 1);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(log).split(lines, '\n');
  REQUIRE(lines.size() == 4);
  CHECK(columns(lines[1]) <= 162);
  CHECK(lines[2].trim() == "^");
  const size_t caret = lines[2].size() - 1;  // columns left of the caret
  CHECK(columns(lines[1].take_front(lines[1].find('X'))) == caret);
}

TEST_CASE("an underline does not run past a cut line") {
  const std::string log = print(std::string(10'000, 'a'), 10, 9'000);
  CHECK(log.size() < 500);
  CHECK(log.find("~~~~") != std::string::npos);
}

TEST_CASE("no colour unless asked for") {
  CHECK(print("abc", 0, 3).find('\x1b') == std::string::npos);
  const std::string log = print("abc", 0, 3, true);
  CHECK(log.find('\x1b') != std::string::npos);
  CHECK(log.find("no good") != std::string::npos);
}

TEST_CASE("errors past the limit are counted, their notes left out") {
  const int count = GENERATE(19, 20, 21, 22, 1000);
  std::string log;
  llvm::raw_string_ostream stream(log);
  {
    DiagnosticPrinter diagnostics(stream);
    CHECK(diagnostics.ok());
    for (int i = 0; i < count; ++i) {
      diagnostics.error("e" + std::to_string(i));
      diagnostics.note({}, "n" + std::to_string(i));
    }
    CHECK(diagnostics.errors() == count);
    CHECK_FALSE(diagnostics.ok());
  }
  const std::string rest =
      count <= 20   ? ""
      : count == 21 ? "tilepost: note: 1 more error not shown\n"
                    : "tilepost: note: " + std::to_string(count - 20) + " more errors not shown\n";
  const int shown = std::min(count, 20);
  CHECK(llvm::StringRef(log).count("error: ") == static_cast<size_t>(shown));
  CHECK(llvm::StringRef(log).count("note: n") == static_cast<size_t>(shown));
  CHECK(llvm::StringRef(log).ends_with(rest.empty() ? "note: n" + std::to_string(shown - 1) + "\n"
                                                    : rest));
}

TEST_CASE("warnings and notes are no errors") {
  std::string log;
  llvm::raw_string_ostream stream(log);
  DiagnosticPrinter diagnostics(stream);
  diagnostics.warning({}, "w");
  diagnostics.note({}, "n");
  CHECK(diagnostics.ok());
  CHECK(log == "tilepost: warning: w\ntilepost: note: n\n");
}

TEST_CASE("a warning is said once, twenty of them at most, and notes go with them") {
  const int count = GENERATE(1, 20, 21, 23);
  std::string log;
  llvm::raw_string_ostream stream(log);
  {
    DiagnosticPrinter diagnostics(stream);
    for (int i = 0; i < 2 * count; ++i) {
      diagnostics.warning({}, "w" + std::to_string(i / 2));
      diagnostics.note({}, "n" + std::to_string(i));
    }
    CHECK(diagnostics.ok());
  }
  const auto shown = static_cast<size_t>(std::min(count, 20));
  CHECK(llvm::StringRef(log).count("warning: w") == shown);
  CHECK(llvm::StringRef(log).count("note: n") == shown);
  const std::string rest = count == 21   ? "tilepost: note: 1 more warning not shown\n"
                           : count == 23 ? "tilepost: note: 3 more warnings not shown\n"
                                         : "note: n" + std::to_string(2 * count - 2) + "\n";
  CHECK(llvm::StringRef(log).ends_with(rest));
}

TEST_CASE("warnings that are refused are errors") {
  std::string log;
  llvm::raw_string_ostream stream(log);
  DiagnosticPrinter diagnostics(stream);
  diagnostics.refuse_warnings();
  diagnostics.warning({}, "w");
  CHECK(diagnostics.errors() == 1);
  CHECK(log == "tilepost: error: w [--werror]\n");
}

TEST_CASE("a source keeps its own copy and a foreign place is no place") {
  std::string log;
  llvm::raw_string_ostream stream(log);
  DiagnosticPrinter diagnostics(stream);
  std::string text = "abc";
  const llvm::StringRef source = diagnostics.add_source("one", text);
  text = "xyz";
  diagnostics.error(range(source, 1, 1), "here");
  diagnostics.error(range(text, 1, 1), "elsewhere");
  CHECK(log == "one:1:2: error: here\nabc\n ^\ntilepost: error: elsewhere\n");
}

TEST_CASE("did_you_mean finds near words only") {
  const std::vector<llvm::StringRef> words = {"sm_80", "sm_86", "sm_90a", "groups", "m"};
  CHECK(did_you_mean("grops", words) == ", did you mean 'groups'?");
  CHECK(did_you_mean("GROUPS", words) == ", did you mean 'groups'?");
  CHECK(did_you_mean("sm_90", words) == ", did you mean 'sm_90a'?");
  CHECK(did_you_mean("transport", words) == "");
  const std::vector<llvm::StringRef> patterns = {"gemm", "gemm_all_reduce", "bf16"};
  for (const char* word : {"gemm_rs", "gemm_r", "gemm-x", "a_gemm"})
    CHECK(did_you_mean(word, patterns) == "");
  CHECK(did_you_mean("gem", patterns) == ", did you mean 'gemm'?");
  CHECK(did_you_mean("b_f16", patterns) == ", did you mean 'bf16'?");
  CHECK(did_you_mean("gemm_all_reduse", patterns) == ", did you mean 'gemm_all_reduce'?");
  CHECK(did_you_mean("k", words) == "");
  CHECK(did_you_mean("", words) == "");
  CHECK(did_you_mean(std::string(100'000, 'g'), words) == "");
}
