// Helpers for messages: the user's words in quotes, and lists of words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilepost {

// 'text', cut after 60 bytes so that a long word cannot flood the message.
std::string quote(std::string_view text);

// "a, b, c"
std::string join(const std::vector<std::string_view>& words);

}  // namespace tilepost
