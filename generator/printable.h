// A user's text for messages, comments and string literals, where it must not appear as it is. File
// names, overrides and words of a spec may hold any character: some move a terminal's cursor, end
// the line of a comment or reverse the order of letters.
#pragma once

#include <string>
#include <string_view>

namespace tilepost {

// The character at the start of a text that is not empty.
struct Character {
  size_t bytes;  // the character's length; 1 for a byte that is not UTF-8
  bool plain;    // can be shown: no control, line end, invisible or bidirectional format character
};
Character first_character(std::string_view text);

// `text` on one line, safe in messages, terminals and comments. A character that is not plain
// becomes an escape: "\x1b" for a single byte, "\u202e" for a character of several bytes.
std::string printable(std::string_view text);

// `text` as a string literal of C and C++, in ASCII, with the quotes.
std::string c_literal(std::string_view text);

}  // namespace tilepost
