#include "generator/spec/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "generator/spec/text.h"

namespace tilepost {

void Value::set_scalar(std::string word, bool in_quotes) {
  constexpr std::string_view kNulls[] = {"null", "Null", "NULL", "~", ""};
  const bool is_null = !in_quotes && std::ranges::find(kNulls, word) != std::end(kNulls);
  kind = is_null ? Kind::null : Kind::scalar;
  quoted = in_quotes;
  text = std::move(word);
}

const Entry* Value::find(std::string_view key) const {
  for (const Entry& entry : entries)
    if (entry.key == key) return &entry;
  return nullptr;
}

Entry* Value::find(std::string_view key) {
  return const_cast<Entry*>(static_cast<const Value*>(this)->find(key));
}

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::null:
      return "nothing";
    case Value::Kind::sequence:
      return "a list";
    case Value::Kind::mapping:
      return "a mapping";
    case Value::Kind::scalar:
      break;
  }
  return (value.quoted ? "the string " : "") + quote(value.text);
}

void refuse_depth(Place where, Diagnostics& diagnostics) {
  diagnostics.error(where,
                    fmt::format("nested more than {} levels deep, a spec needs 3", kMaxDepth));
}

void refuse_entries(Place where, Diagnostics& diagnostics) {
  diagnostics.error(where, fmt::format("more than {} entries in one list or mapping", kMaxEntries));
}

void refuse_twice(std::string_view key, Place where, Place first, Diagnostics& diagnostics) {
  diagnostics.error(where, quote(key) + " is given twice");
  diagnostics.note(first, "first given here");
}

}  // namespace tilepost
