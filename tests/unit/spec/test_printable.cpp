// Users' texts made harmless, against a decoder written here and a compiler's own rules.
#include "generator/printable.h"

#include <random>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ConvertUTF.h"
#include "tests/catch.h"

namespace {

using tilepost::c_literal;
using tilepost::first_character;
using tilepost::printable;

std::string utf8(uint32_t code) {
  char buffer[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char* end = buffer;
  REQUIRE(llvm::ConvertCodePointToUTF8(code, end));
  return {buffer, end};
}

// The value that a compiler gives to a literal of c_literal.
std::string value_of(llvm::StringRef literal) {
  REQUIRE(literal.consume_front("\""));
  REQUIRE(literal.consume_back("\""));
  std::string text;
  for (size_t i = 0; i < literal.size(); ++i) {
    REQUIRE((literal[i] >= 0x20 && literal[i] < 0x7f && literal[i] != '"'));
    if (literal[i] != '\\') {
      text += literal[i];
    } else if (literal[i + 1] >= '0' && literal[i + 1] <= '3') {
      text += static_cast<char>(std::stoi(literal.substr(i + 1, 3).str(), nullptr, 8));
      i += 3;
    } else {
      REQUIRE(llvm::StringRef("\"\\?").contains(literal[i + 1]));
      text += literal[++i];
    }
  }
  return text;
}

}  // namespace

TEST_CASE("plain text is shown as it is") {
  for (const char* text : {"", "attn_out.yaml", "a b'c\"d\\e/#$:", "\u00e4\u00f6", "\u4e2d\u6587",
                           "\u2026", "\U0001f600"})
    CHECK(printable(text) == text);
}

TEST_CASE("what moves a cursor, ends a line or hides is an escape") {
  CHECK(printable("a\nb\r\x1b[2J\x7f") == "a\\x0ab\\x0d\\x1b[2J\\x7f");
  CHECK(printable(std::string_view("\0", 1)) == "\\x00");
  CHECK(printable("\u0085\u009b") == "\\u0085\\u009b");
  for (uint32_t code : {0xadu, 0x61cu, 0x200bu, 0x200eu, 0x200fu, 0x2028u, 0x2029u, 0x202au,
                        0x202eu, 0x2066u, 0x2069u, 0xfeffu}) {
    const std::string text = printable("x" + utf8(code) + "y");
    CAPTURE(code, text);
    CHECK(text.starts_with("x\\u"));
    CHECK(std::stoul(text.substr(3, 4), nullptr, 16) == code);
    CHECK(text.size() == 8);
  }
  CHECK(printable("\U000e0041") == "\\U000e0041");
}

TEST_CASE("bytes that are not UTF-8 are escapes, each for itself") {
  CHECK(printable("\xff") == "\\xff");
  CHECK(printable("\xc0\x80") == "\\xc0\\x80");               // overlong
  CHECK(printable("\xe0\x9f\xbf") == "\\xe0\\x9f\\xbf");      // overlong
  CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");      // surrogate
  CHECK(printable("\xf4\x90\x80\x80").starts_with("\\xf4"));  // beyond Unicode
  CHECK(printable("\xe2\x82") == "\\xe2\\x82");               // cut short
  CHECK(printable("\xc3") == "\\xc3");
}

TEST_CASE("characters are where LLVM finds them") {
  std::mt19937 random(1);
  for (int run = 0; run < 200'000; ++run) {
    std::string text;
    for (int i = 0; i < 4; ++i)
      text += static_cast<char>(random() % 2 ? 0x80 | (random() & 0x3f) : random());
    const auto* bytes = reinterpret_cast<const llvm::UTF8*>(text.data());
    const size_t length = llvm::getNumBytesForUTF8(bytes[0]);
    const bool legal = length <= text.size() && llvm::isLegalUTF8Sequence(bytes, bytes + length);
    const tilepost::Character character = first_character(text);
    if (character.bytes != (legal ? length : 1) || (character.plain && !legal)) {
      CAPTURE(printable(text));
      FAIL("another sequence than LLVM's");
    }
    for (const char c : printable(text)) {
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) FAIL("a control character is left");
    }
  }
}

TEST_CASE("a literal means its text, whatever follows an escape") {
  CHECK(c_literal("a") == "\"a\"");
  CHECK(c_literal("\n1") == "\"\\0121\"");
  CHECK(c_literal("?"
                  "?/") == "\"\\?\\?/\"");
  std::mt19937 random(2);
  for (int run = 0; run < 2000; ++run) {
    std::string text;
    for (size_t i = random() % 8; i > 0; --i) text += static_cast<char>(random());
    CHECK(value_of(c_literal(text)) == text);
  }
}
