// Checks docs/spec.md against the table of fields.
#include "generator/spec/fields.h"
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;

// The cells of the table row that starts with `path`. They are empty if there is none.
llvm::SmallVector<llvm::StringRef> row_of(llvm::StringRef docs, llvm::StringRef path) {
  llvm::SmallVector<llvm::StringRef> cells;
  const std::string start = ("\n| `" + path + "` |").str();
  const size_t at = docs.find(start);
  if (at == llvm::StringRef::npos) return cells;
  const llvm::StringRef line = docs.drop_front(at + 1).split('\n').first;
  line.trim("| ").split(cells, " | ");
  return cells;
}

// A cell as plain text, without marks of code and quotes.
std::string plain(llvm::StringRef cell) {
  std::string out;
  for (const char c : cell)
    if (c != '`' && c != '\'') out += c;
  return llvm::StringRef(out).trim().str();
}

}  // namespace

TEST_CASE("docs/spec.md has every field with its values and default") {
  const std::string docs = test::read_file("docs/spec.md");
  REQUIRE_FALSE(docs.empty());
  for (const Field& field : fields()) {
    CAPTURE(field.path);
    const auto cells = row_of(docs, field.path);
    REQUIRE(cells.size() == 4);
    CHECK(plain(cells[1]) == plain(expectation(field)));
    const std::string fallback = field.required          ? "required"
                                 : field.same_as.empty() ? std::string(field.default_text)
                                                         : "as " + std::string(field.same_as);
    CHECK(plain(cells[2]) == fallback);
    CHECK(cells[3].size() > 10);
  }
}

TEST_CASE("docs/spec.md has no row without a field") {
  const std::string docs = test::read_file("docs/spec.md");
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(docs).split(lines, '\n');
  for (llvm::StringRef line : lines) {
    if (!line.consume_front("| `")) continue;
    CAPTURE(line.str());
    CHECK(find_field(line.split('`').first) != nullptr);
  }
}

TEST_CASE("the specs shown in docs/spec.md are accepted") {
  const std::string docs = test::read_file("docs/spec.md");
  size_t count = 0;
  for (llvm::StringRef rest = docs; rest.contains("```yaml\n"); ++count) {
    const auto [block, tail] = rest.split("```yaml\n").second.split("```");
    const test::Outcome outcome = test::read(block);
    INFO(outcome.log);
    CHECK(outcome.spec.has_value());
    rest = tail;
  }
  CHECK(count >= 2);
}
