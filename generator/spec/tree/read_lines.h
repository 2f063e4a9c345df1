// From nested lines to a tree of values, for programs that read a machine profile at run time and
// have no reader of YAML.
#pragma once

#include <optional>
#include <string_view>

#include "generator/spec/value.h"

namespace tilepost {

// Reads the part of YAML that write_machine() writes: `key: value` with the value on the line
// (read_value.h), `key:` with lines below it that are indented further, lists of such lines behind
// "- ", and comments. Refuses every other construct of YAML, so that a text means here what it
// means to a reader of YAML. `text` must point into a source of `diagnostics`. Reports the first
// fault and returns nothing if there is one.
std::optional<Value> read_lines(std::string_view text, Diagnostics& diagnostics);

}  // namespace tilepost
