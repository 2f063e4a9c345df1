// The reader of nested lines: what it takes means the same to a reader of YAML, and what it does
// not take is refused.
#include "generator/diagnostic_printer.h"
#include "generator/plan/machine/profile.h"
#include "generator/plan/machine/text.h"
#include "generator/spec/tree/read_lines.h"
#include "generator/yaml/document.h"
#include "tests/catch.h"

using Catch::Contains;

namespace {

using namespace tilepost;

bool same(const Value& x, const Value& y);
bool same(const Entry& x, const Entry& y) {
  return x.key == y.key && same(x.value, y.value);
}
bool same(const Value& x, const Value& y) {
  const auto equal = [](const auto& p, const auto& q) {
    return std::equal(p.begin(), p.end(), q.begin(), q.end(),
                      [](const auto& a, const auto& b) { return same(a, b); });
  };
  return x.kind == y.kind && x.text == y.text && x.quoted == y.quoted && equal(x.items, y.items) &&
         equal(x.entries, y.entries);
}

// Reads the text in both ways.
struct Both {
  explicit Both(const std::string& text) {
    llvm::raw_string_ostream stream(log);
    DiagnosticPrinter diagnostics(stream);
    lines = read_lines(diagnostics.add_source("machine", text), diagnostics);
    llvm::raw_string_ostream quiet(unread);
    DiagnosticPrinter others(quiet);
    yaml = parse_document(others.add_source("machine", text), others);
  }

  std::optional<Value> lines, yaml;
  std::string log, unread;
};

}  // namespace

TEST_CASE("lines: what is read is what YAML says") {
  for (const std::string& text : {
           write_machine(default_machine()),
           std::string(""),
           std::string("# nothing\n"),
           std::string("a: 1"),
           std::string("a: 1\r\nb: 2\r\n"),
           std::string("a: x # a comment\nb: 'x # none'  # one\nc: \"#\"\nd: x#y\n"),
           std::string("a:\nb: ~\nc: ''\n"),
           std::string("a:\n  b:\n    c: 1\n  d: 2\ne: 3\n"),
           std::string("a:\n    b: 1\n"),
           std::string("a:\n- b: 1\n  c: 2\n- b: 3\nd: 4\n"),
           std::string("a:\n  - 1\n  - x y\n  - [1, [2, 3]]\n"),
           std::string("a:\n  - - 1\n    - 2\n  - - 3\n"),
           std::string("a: [1, 2]\nb: {c: 1, d: [2]}\n"),
           std::string("a: it's\nb: x:y\nc: 'it''s # one'\n"),
       }) {
    INFO(text);
    const Both both(text);
    INFO(both.log << both.unread);
    REQUIRE(both.lines.has_value());
    REQUIRE(both.yaml.has_value());
    if (!both.lines->entries.empty()) CHECK(same(*both.lines, *both.yaml));
    CHECK(both.lines->entries.size() == both.yaml->entries.size());
  }
}

TEST_CASE("lines: what means something else in YAML is refused") {
  const std::pair<const char*, const char*> cases[] = {
      {"a: &x 1\n", "values that begin with '&' are not read here"},
      {"a: *x\n", "values that begin with '*'"},
      {"a: !int 1\n", "values that begin with '!'"},
      {"a: |\n  text\n", "values that begin with '|'"},
      {"a: \"x\\ty\"\n", "escapes in quotes"},
      {"a: 1\n  b: 2\n", "indented further"},
      {"  a: 1\nb: 2\n", "belongs to nothing before it"},
      {"a:\n  b: 1\n c: 2\n", "indented"},
      {"a:\n\tb: 1\n", "a tab"},
      {"a: 1\na: 2\n", "a"},
      {"a\n", "expected 'key: value'"},
      {"---\na: 1\n", "expected 'key: value'"},
      {"'a': 1\n", "expected 'key: value'"},
      {"a:\n  -\n    b: 1\n", "an item begins on the line of its '-'"},
      {"a: [1,\n  2]\n", "']' is missing"},
      {"- 1\na: 2\n", "belongs to nothing before it"},
  };
  for (const auto& [text, message] : cases) {
    INFO(text);
    const Both both(text);
    CHECK(!both.lines.has_value());
    CHECK_THAT(both.log, Contains(message));
  }
}

TEST_CASE("lines: depth and size have bounds") {
  std::string deep;
  for (int i = 0; i < 40; ++i) deep += std::string(i, ' ') + "a:\n";
  CHECK(!Both(deep).lines.has_value());
  CHECK(!Both(std::string((1 << 20) + 1, '#')).lines.has_value());
}
