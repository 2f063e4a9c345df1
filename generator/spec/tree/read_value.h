// From one line of text to a tree of values.
#pragma once

#include <optional>
#include <string_view>

#include "generator/spec/value.h"

namespace tilepost {

// Reads a value as YAML writes it on one line: a word, a word in quotes, in which a doubled quote
// stands for one quote, `[a, b]` or `{key: value}`. `text` must point into a source of
// `diagnostics`. Reports the first fault and returns nothing if there is one.
std::optional<Value> read_value(std::string_view text, Diagnostics& diagnostics);

}  // namespace tilepost
