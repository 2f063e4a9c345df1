// Random changes to valid specs. The reader must give either a spec or an error, and must not
// crash.
#include <random>

#include "generator/spec/fields.h"
#include "generator/spec/identifier.h"
#include "tests/catch.h"
#include "tests/unit/spec/fixture.h"

namespace {

using namespace tilepost;

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  size_t below(size_t bound) { return random_() % bound; }

  void change(std::string& text) {
    const size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        text.insert(at, kTokens[below(std::size(kTokens))]);
        break;
      case 1:
        text.erase(at, below(8) + 1);
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(below(256));
        break;
      case 3:
        text.insert(at, text.substr(below(text.size() + 1), below(40)));
        break;
      case 4:
        text.resize(at);
        break;
      default:
        text.insert(at, std::string(fields()[below(fields().size())].path) + ": ");
    }
  }

 private:
  static constexpr const char* kTokens[] = {"[",
                                            "]",
                                            "{",
                                            "}",
                                            ": ",
                                            ",",
                                            "- ",
                                            "? ",
                                            "&a ",
                                            "*a",
                                            "!!str ",
                                            "|\n",
                                            ">\n",
                                            "\"",
                                            "'",
                                            "#",
                                            "\n",
                                            "\t",
                                            "---\n",
                                            "...\n",
                                            "%TAG ",
                                            "\\",
                                            "~",
                                            "null",
                                            "-1",
                                            "0x1",
                                            "999999999999999999999",
                                            "\r\n",
                                            "\xef\xbb\xbf",
                                            "\xff",
                                            "  ",
                                            "<<: ",
                                            "auto",
                                            "host"};
  std::mt19937 random_;
};

// Whether there is either a spec or an error, and a spec keeps the promises of spec.h.
bool holds(const test::Outcome& outcome) {
  if (!outcome.spec) return outcome.errors > 0 && !outcome.log.empty();
  const Spec& spec = *outcome.spec;
  return outcome.errors == 0 && why_not_a_name(spec.name.value).empty() && spec.gemm.m.value > 0 &&
         spec.gemm.n.value > 0 && spec.gemm.k.value > 0 && spec.ranks.value > 0 &&
         !spec.archs.value.empty() && spec.gemm.b.value == spec.gemm.a.value;
}

bool is_plain(const std::string& log) {
  return std::all_of(log.begin(), log.end(),
                     [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; });
}

}  // namespace

TEST_CASE("random changes to specs never break the reader") {
  std::vector<std::string> seeds;
  for (const char* name : {"ar_sm90", "ar_sm80", "ar_host", "ar_tiles"})
    seeds.push_back(test::read_file("tests/specs/" + std::string(name) + ".yaml"));
  constexpr int kRuns = 20'000;
  int accepted = 0;
  for (uint32_t seed = 0; seed < kRuns; ++seed) {
    Mutator mutator(seed);
    std::string text = seeds[mutator.below(seeds.size())];
    for (size_t changes = mutator.below(6) + 1; changes > 0; --changes) mutator.change(text);
    const test::Outcome outcome = test::read(text);
    accepted += outcome.spec.has_value() ? 1 : 0;
    if (!holds(outcome) || !is_plain(outcome.log)) {
      CAPTURE(seed, text, outcome.log);
      FAIL("the reader broke its promise");
    }
  }
  CHECK(accepted > kRuns / 100);  // changes of comments and strings do no harm
  CHECK(accepted < kRuns / 2);
}

TEST_CASE("random overrides never break the reader") {
  constexpr int kRuns = 5'000;
  for (uint32_t seed = 0; seed < kRuns; ++seed) {
    Mutator mutator(seed);
    std::string value = "[1, 3]";
    for (size_t changes = mutator.below(5) + 1; changes > 0; --changes) mutator.change(value);
    const Field& field = fields()[mutator.below(fields().size())];
    const test::Outcome outcome = test::read(test::kMinimal, {{std::string(field.path), value}});
    if (!holds(outcome) || !is_plain(outcome.log)) {
      CAPTURE(seed, value, outcome.log);
      FAIL("the reader broke its promise");
    }
  }
}
