// The YAML text as a tree of values, each with its place.
//
// LLVM's parser nodes are walked directly. YAMLTraits, built on the same parser, reports one
// unknown key only, in hash order, and gives up at the first error of a mapping; a spec gets all
// its errors in one run. The walk itself refuses what recursion or a later stage would choke on:
// depth, aliases, anchors, tags, keys that are not words, keys given twice, block scalars.
#pragma once

#include <optional>

#include "generator/spec/value.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// Parses guarded text that points into a source of `diagnostics`. Reports every fault of the
// structure; where the text is not YAML it stops at the first. Returns nothing if there was a
// fault. Blank text is a null value.
std::optional<Value> parse_document(llvm::StringRef text, Diagnostics& diagnostics);

}  // namespace tilepost
