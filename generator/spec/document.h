// The YAML text as a tree of values, each with its place.
//
// LLVM's parser nodes are walked directly. YAMLTraits, built on the same parser, reports one
// unknown key only, in hash order, and gives up at the first error of a mapping; a spec gets all
// its errors in one run. The walk itself refuses what recursion or a later stage would choke on:
// depth, aliases, anchors, tags, keys that are not words, keys given twice, block scalars.
#pragma once

#include <optional>
#include <string>
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
  std::vector<Entry> entries;  // mapping, in the order of the file
  Place where;

  // The entry with this key, or null.
  Entry* find(llvm::StringRef key);
  const Entry* find(llvm::StringRef key) const;
};

struct Entry {
  std::string key;
  Place where;  // of the key
  Value value;
};

// Parses guarded text that points into a source of `diagnostics`. Reports every fault of the
// structure, and stops at the first where the text is not YAML; nothing if there was one. Blank
// text is a null value.
std::optional<Value> parse_document(llvm::StringRef text, Diagnostics& diagnostics);

}  // namespace tilepost
