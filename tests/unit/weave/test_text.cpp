#include "generator/clang/text.h"

#include <random>

#include "tests/catch.h"

namespace tilepost {

TEST_CASE("edits keep every character's origin") {
  const Text text("abcdef");
  Edits edits;
  edits.replace(1, 3, "XYZ");
  edits.insert(4, "-");
  edits.insert(4, "-");  // counts once
  edits.erase(5, 6);
  const Text result = edits.apply(text);
  CHECK(result.text == "aXYZd-e");
  CHECK(result.origin == std::vector<uint32_t>{0, 1, 1, 1, 3, 4, 4, 6});
  Edits again;
  again.erase(0, 2);
  CHECK(again.apply(result).text == "YZd-e");
  CHECK(again.apply(result).origin_of(2) == 3);
}

TEST_CASE("an edit inside of a replaced part goes with it") {
  Edits edits;
  edits.erase(1, 5);
  edits.replace(2, 3, "?");
  edits.insert(1, "+");
  CHECK(edits.apply(Text("abcdef")).text == "a+f");
}

TEST_CASE("part of a text gets the edits that start in it") {
  Edits edits;
  edits.insert(0, "0");
  edits.insert(2, "2");
  edits.insert(4, "4");
  edits.insert(6, "6");
  const Text text("abcdef");
  CHECK(edits.apply(text, 2, 4).text == "2cd");
  CHECK(edits.apply(text, 4, 6).text == "4ef6");
}

TEST_CASE("random edits agree with doing them one by one from the back") {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string expected(20, 'a');
    for (char& c : expected) c = static_cast<char>('a' + random() % 26);
    const Text text(expected);
    Edits edits;
    size_t end = expected.size();
    while (end > 5) {
      const size_t stop = end - random() % 3;
      const size_t begin = stop - random() % 3;
      const std::string with(random() % 3 + (begin == stop), '#');
      edits.replace(begin, stop, with);
      expected.replace(begin, stop - begin, with);
      end = begin - 1;
    }
    const Text result = edits.apply(text);
    REQUIRE(result.text == expected);
    REQUIRE(result.origin.size() == expected.size() + 1);
    for (size_t i = 0; i < expected.size(); ++i) {
      if (expected[i] != '#') REQUIRE(text.text[result.origin[i]] == expected[i]);
    }
  }
}

}  // namespace tilepost
