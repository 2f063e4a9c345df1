// Hostile files. Each must get one precise error, and fast.
#include "generator/yaml/guard.h"

#include <chrono>

#include "generator/yaml/document.h"
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;
using test::kMinimal;
using test::Outcome;
using test::read;

std::string repeat(llvm::StringRef text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// Lines of `text`, each one space deeper than the line before.
std::string staircase(llvm::StringRef text, size_t steps) {
  std::string out;
  for (size_t i = 0; i < steps; ++i) out += std::string(i, ' ') + text.str() + "\n";
  return out;
}

// Checks that `text` gets one error with this place and these words, in under a second.
void refused(const std::string& text, const std::string& place, const std::string& words) {
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = read(text);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  INFO(outcome.log);
  CHECK_FALSE(outcome.spec.has_value());
  CHECK(outcome.errors == 1);
  CHECK(llvm::StringRef(outcome.log).starts_with("spec.yaml:" + place + ": error: "));
  CHECK(outcome.log.find(words) != std::string::npos);
  CHECK(outcome.log.size() < 1000);
  CHECK(time.count() < 1.0);
}

}  // namespace

TEST_CASE("deep nesting is one error") {
  constexpr size_t kDepth = 100'000;
  const std::string deep = "nested more than 32 levels deep";
  refused(repeat("[", kDepth), "1:4097", "100000 bytes");
  refused(repeat("{", kDepth), "1:4097", "100000 bytes");
  refused(repeat("- ", kDepth), "1:4097", "200000 bytes");
  refused(repeat("? ", kDepth), "1:4097", "200000 bytes");
  refused(repeat("{a: ", kDepth), "1:4097", "400000 bytes");
  refused(repeat("[", 4000), "1:33", deep);
  refused(repeat("- ", 2000), "1:65", deep);
  refused(repeat("{a: ", 1000), "1:129", deep);
  refused(repeat("[\n", kDepth), "34:1", deep);
  refused(repeat("{a:\n", kDepth), "33:1", deep);
  refused(repeat("{\n", kDepth), "2:1", "not valid YAML");
  refused(repeat("? ", 2000), "1:3", "a key must be a word");
  refused(repeat("?\n", kDepth), "2:1", "a key must be a word");
  refused(staircase("-", 1400), "33:33", deep);
  refused(staircase("a:", 1400), "33:33", deep);
  refused(staircase("?", 1400), "2:2", "a key must be a word");
}

TEST_CASE("brackets in strings and comments do not count as nesting") {
  const Outcome comment = read(kMinimal.str() + "# " + repeat("[{", 1000) + "\n");
  CHECK(comment.spec.has_value());
  const std::string name = test::with_line("name", "name: \"" + repeat("[", 100) + "\"");
  refused(name, "2:7", "100 characters, at most 64");
}

TEST_CASE("a collection of very many entries is one error") {
  std::string keys;
  for (int i = 0; i < 90'000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  refused(keys, "2049:1", "more than 2048 entries");
  refused("tilepost: [\n" + repeat("1,\n", 300'000) + "]\n", "2050:1", "more than 2048 entries");
}

TEST_CASE("a row of commas is one error, however it is spread") {
  const std::string row = "more than 64 commas";
  refused("a: [" + repeat(",", 4000) + "]\n", "1:69", row);
  refused("[" + repeat(repeat(",", 4000) + "\n", 5), "1:66", row);
  refused("{" + repeat(",\n", 100'000), "65:1", row);
  refused("[" + repeat(", # ,\n", 100'000), "65:1", row);
  refused("[" + repeat(",#\n#,\n", 100'000), "129:1", row);
  // This looks like a string but is none, because the scalar before it goes on.
  refused("a: b\n 'c\nd: [" + repeat(",", 1000) + "]\ne: '\n", "3:69", row);
  CHECK(read(kMinimal.str() + "# " + repeat(",", 1000) + "\n").spec.has_value());
  const Outcome value = read(kMinimal, {{"gemm.m", "[" + repeat(",", 4000) + "]"}});
  CHECK(value.log.find(row) != std::string::npos);
}

TEST_CASE("a comma follows a value") {
  const std::string lone = "a comma with no value before it; remove it";
  const auto tile = [](llvm::StringRef list) {
    return kMinimal.str() + "schedule: {tile: " + list.str() + "}\n";
  };
  REQUIRE(read(tile("[128, 64, ]")).spec.has_value());
  refused(tile("[128,,,64]"), "7:23", lone);
  refused(tile("[128, # ,\n , 64]"), "8:2", lone);
  refused(tile("[ ,128, 64]"), "7:20", lone);
  refused(tile("[128, 64,,]"), "7:27", lone);
  CHECK(read(tile("[128, 64], ")).spec.has_value());
  refused(test::with_line("gemm", "gemm: {m: 64,,, n: 64, k: 64, a: bf16}"), "5:14", lone);
  refused(test::with_line("gemm", "gemm: {, m: 64, n: 64, k: 64, a: bf16}"), "5:8", lone);
  refused(test::with_line("arch", "arch: [[sm_90a],, sm_80]"), "6:17", lone);
  // Commas in strings and comments have no meaning.
  refused(test::with_line("name", "name: 'a,,b'"), "2:7", "not a C identifier");
  refused(test::with_line("name", "name: a,,b"), "2:7", "not a C identifier");
  CHECK(read(tile("[128, # ,, [,\n 64]")).spec.has_value());
  CHECK(read(kMinimal.str() + "# [,,\n").spec.has_value());
}

TEST_CASE("size and line length are bounded") {
  refused(std::string(10'000'000, 'a'), "1:1", "10000000 bytes, at most 1048576");
  refused(repeat("a: b\n", 250'000), "1:1", "1250000 bytes, at most 1048576");
  refused(std::string(1'000'000, 'a'), "1:4097", "1000000 bytes, at most 4096");
  const std::string longest = kMinimal.str() + "#" + std::string(kMaxLineBytes - 1, 'x');
  CHECK(read(longest + "\n").spec.has_value());
  refused(longest + "x\n", "7:4097", "4097 bytes, at most 4096");
  std::string largest = kMinimal.str() + repeat("# xxxxx\n", kMaxSpecBytes / 8);
  largest.resize(kMaxSpecBytes);
  CHECK(read(largest).spec.has_value());
  refused(largest + "\n", "1:1", "1048577 bytes, at most 1048576");
}

TEST_CASE("bytes that are not text are refused where they stand") {
  refused("name: \"\xff\xfe\"\n", "1:8", "byte 0xFF is not valid UTF-8");
  refused("name: \"\xc0\x80\"\n", "1:8", "byte 0xC0 is not valid UTF-8");      // overlong
  refused("name: \"\xed\xa0\x80\"\n", "1:8", "byte 0xED is not valid UTF-8");  // surrogate
  refused("# \xe2\x82", "1:3", "byte 0xE2 is not valid UTF-8");                // cut short
  refused(kMinimal.str() + std::string(1, '\0'), "7:1", "control character 0x00");
  refused(std::string(1000, '\0'), "1:1", "control character 0x00");
  refused("name: \x1b[31m\n", "1:7", "control character 0x1B");
  refused("tilepost: 1\rname: x\n", "1:12", "control character 0x0D");
}

TEST_CASE("a file without content is refused") {
  const std::string text =
      GENERATE("", "\n", "   \n\n", "# a\n  # b\n", "---\n", "--- # a\n...\n", "\xef\xbb\xbf");
  refused(text, "1:1", "the spec is empty");
}

TEST_CASE("tabs do not indent") {
  refused("gemm:\n\tm: 1\n", "2:1", "tab in the indentation");
  refused("gemm:\n  \tm: 1\n", "2:3", "tab in the indentation");
  refused("tilepost: 1\n\t\n", "2:1", "tab in the indentation");
  CHECK(read(test::with_line("ranks", "ranks:\t4\t# four")).spec.has_value());
}

TEST_CASE("a spec is one document") {
  refused(kMinimal.str() + "---\n" + kMinimal.str(), "7:1", "second document");
  refused("---\n" + kMinimal.str() + "---\n", "8:1", "second document");
  refused(kMinimal.str() + "...\na: 1\n", "8:1", "second document");
  refused(repeat("---\n", 200'000), "2:1", "second document");
  refused(repeat("...\n", 200'000), "2:1", "second document");
  refused("%YAML 1.2\n---\n" + kMinimal.str(), "1:1", "directives");
  refused("--- {}\n--- {}\n", "2:1", "second document");
  CHECK(read("# a\n---\n" + kMinimal.str() + "...\n# b\n").spec.has_value());
}

TEST_CASE("line ends of Windows and a byte order mark are accepted") {
  std::string text = "\xef\xbb\xbf";
  for (const char c : kMinimal) text += c == '\n' ? "\r\n" : std::string(1, c);
  CHECK(read(text).spec.has_value());
}

TEST_CASE("aliases, anchors, tags and block scalars are refused") {
  refused("tilepost: &x 1\n", "1:12", "anchors are not supported");
  refused("tilepost: *x\n", "1:12", "aliases are not supported");
  refused("tilepost: !!int 1\n", "1:11", "tags are not supported");
  refused("tilepost: |\n  1\n", "2:1", "block scalars");
  const std::string bomb = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n";
  const Outcome outcome = read(bomb);
  CHECK(outcome.errors == 9);
  CHECK(llvm::StringRef(outcome.log).starts_with("spec.yaml:1:5: error: anchors"));
  CHECK(outcome.log.find("spec.yaml:4:6: error: aliases") != std::string::npos);
}

TEST_CASE("text that is not YAML is one error in our words") {
  refused("tilepost: 1\nname: \"abc\n", "2:11", "not valid YAML: expected quote at end of scalar");
  refused("tilepost: [1\n", "1:13", "not valid YAML: could not find closing ]");
  refused(kMinimal.str() + "]\n", "7:1", "not valid YAML: ");
  refused("hello", "1:1", "a spec is a mapping that starts with 'tilepost: 1'; got 'hello'");
  refused("- a\n", "1:1", "got a list");
  refused("~\n", "1:1", "got nothing");
  refused(std::string(1500, 'x') + ": 1\n", "1:1501", "unexpected text after the end");
}

TEST_CASE("a key given twice is refused with both places") {
  const Outcome outcome = read(kMinimal.str() + "name: other\n");
  CHECK(outcome.errors == 1);
  CHECK(outcome.log.find("spec.yaml:7:1: error: 'name' is given twice") != std::string::npos);
  CHECK(outcome.log.find("spec.yaml:2:1: note: first given here") != std::string::npos);
}
