#include "generator/printable.h"

#include <algorithm>
#include <cstdint>

namespace tilepost {
namespace {

using std::string_view;

// Bytes of a UTF-8 sequence and the code point that it spells; no bytes where there is none
// (Unicode 15, table 3-7).
struct Sequence {
  size_t bytes = 0;
  char32_t code = 0;
};

Sequence decode(string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {1, first};
  const size_t bytes = first < 0xc2   ? 0
                       : first < 0xe0 ? 2
                       : first < 0xf0 ? 3
                       : first < 0xf5 ? 4
                                      : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  char32_t code = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // less has a shorter spelling
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kLeast[bytes] || code > 0x10ffff || surrogate) return {};
  return {bytes, code};
}

struct Range {
  char32_t first, last;
};

// Control characters, line and paragraph separators, spaces that look like U+0020 and are none, and
// characters that are invisible or change the order of others (Unicode 15: general categories Cc,
// Zl, Zp, Zs and Cf, less U+0020 and the marks that letters take).
constexpr Range kNotPlain[] = {
    {0x00, 0x1f},     {0x7f, 0xa0},       {0xad, 0xad},       {0x61c, 0x61c},
    {0x1680, 0x1680}, {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},
    {0x205f, 0x206f}, {0x3000, 0x3000},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
    {0xfffe, 0xffff}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};

bool is_plain(char32_t code) {
  return std::ranges::none_of(
      kNotPlain, [&](Range range) { return range.first <= code && code <= range.last; });
}

void append_hex(std::string& text, uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
    text += "0123456789abcdef"[value >> shift & 15];
}

}  // namespace

Character first_character(string_view text) {
  const Sequence sequence = decode(text);
  if (sequence.bytes == 0) return {1, false};
  return {sequence.bytes, is_plain(sequence.code)};
}

std::string printable(string_view text) {
  std::string out;
  while (!text.empty()) {
    const Sequence sequence = decode(text);
    const size_t bytes = std::max<size_t>(sequence.bytes, 1);
    if (sequence.bytes > 0 && is_plain(sequence.code)) {
      out += text.substr(0, bytes);
    } else if (bytes == 1) {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(text[0]), 2);
    } else {
      const bool is_long = sequence.code > 0xffff;
      out += is_long ? "\\U" : "\\u";
      append_hex(out, sequence.code, is_long ? 8 : 4);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

std::string c_literal(string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') {  // "??/" would be a trigraph of C
      out += {'\\', c};
    } else if (byte < 0x20 || byte >= 0x7f) {  // three octal digits: a digit may follow
      out += '\\';
      for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + (byte >> shift & 7));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace tilepost
