// Helpers for texts: words in quotes, for messages and in YAML, and lists of words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilepost {

// 'text', cut after 60 bytes so that a long word cannot flood the message.
std::string quote(std::string_view text);

// The text in double quotes, as a reader of YAML takes it back (YAML 1.2, 5.7 and 7.3.1).
std::string in_yaml(std::string_view text);

// "a, b, c"
std::string join(const std::vector<std::string_view>& words);

}  // namespace tilepost
