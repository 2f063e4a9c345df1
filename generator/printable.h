// A user's text where it must not be taken as it is: in messages and comments, in string literals.
// File names, overrides and words of a spec may hold anything, also what moves a terminal's cursor,
// ends a comment's line or turns the order of letters around.
#pragma once

#include <string>
#include <string_view>

namespace tilepost {

// The character at the start of a text that is not empty.
struct Character {
  size_t bytes;  // that it takes; 1 for a byte that is not UTF-8
  bool plain;    // can be shown: no control, line end, invisible or bidirectional format character
};
Character first_character(std::string_view text);

// `text` on one line, safe in messages, terminals and comments: what is not plain stands as an
// escape, "\x1b" for a byte and "\u202e" for what UTF-8 spells with several.
std::string printable(std::string_view text);

// `text` as a string literal of C and C++, in ASCII, with the quotes.
std::string c_literal(std::string_view text);

}  // namespace tilepost
