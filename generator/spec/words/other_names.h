// What the words of a spec are called elsewhere, so that a message can name the spec's own word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilepost {

// What is known of a word that a field does not have.
struct OtherName {
  // Whether the word is of this field's kind, such as a type or an operation, and no version has it
  // yet.
  bool not_yet = false;
  // Goes behind the message: ", did you mean 'x'?", or what to write. May be empty.
  std::string hint;
};

// `choices`: the field's words. Upper and lower case, '-' and '_' are the same. A choice that is
// merely spelled alike is suggested if nothing else is known of the word.
OtherName other_name(std::string_view word, const std::vector<std::string_view>& choices);

}  // namespace tilepost
