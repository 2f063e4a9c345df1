// A spec before its fields are checked: a tree of values, each with its place. YAML
// (generator/yaml) and fields given as text (read_fields.h) both become one.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "generator/diagnostics.h"

namespace tilepost {

// Collections may be nested this deep; a spec needs 3.
inline constexpr int kMaxDepth = 32;

// A list or mapping may have this many entries; schedule.groups, the longest, has 1024.
inline constexpr size_t kMaxEntries = 2048;

struct Entry;

struct Value {
  enum class Kind { null, scalar, sequence, mapping };
  Kind kind = Kind::null;
  std::string text;            // scalar, unescaped
  bool quoted = false;         // scalar in quotes: never a number
  std::vector<Value> items;    // sequence
  std::vector<Entry> entries;  // mapping, in the order of the text
  Place where;

  // Makes this a scalar, or null where a bare word means nothing: "null", "~" and "".
  void set_scalar(std::string word, bool in_quotes);

  // The entry with this key, or null.
  Entry* find(std::string_view key);
  const Entry* find(std::string_view key) const;
};

struct Entry {
  std::string key;
  Place where;  // of the key
  Value value;
};

// The value as messages call it: "'bf15'", "a list", "nothing".
std::string describe(const Value& value);

// Report that kMaxDepth or kMaxEntries is exceeded, or that a key is there already.
void refuse_depth(Place where, Diagnostics& diagnostics);
void refuse_entries(Place where, Diagnostics& diagnostics);
void refuse_twice(std::string_view key, Place where, Place first, Diagnostics& diagnostics);

}  // namespace tilepost
