// From a tree of values to a Spec: every field read against its row of the table, then the rules
// between fields.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "generator/spec/fields.h"
#include "generator/spec/value.h"

namespace tilepost {

// Reads the mapping `root`. Reports every error it finds and returns nothing if there was one.
// `path` becomes Spec::path, `where` is the place at which a missing field is reported.
std::optional<Spec> read_tree(const Value& root, std::string_view path, Place where,
                              Diagnostics& diagnostics);

// What a dotted path names: a field, or the bound of a size ("gemm.m.max").
struct Target {
  const Field* field = nullptr;
  bool bound = false;
};

// Finds the target of a path. If the path names nothing, the field is null and an error is reported
// at `where`.
Target find_target(std::string_view path, Place where, Diagnostics& diagnostics);

// The entry that `target` has in `root`, or null.
const Entry* find_entry(const Target& target, const Value& root);

// Sets the target's value in the mapping `root`, in place of what is there. `where` is the place of
// the path.
void put(const Target& target, Place where, Value value, Value& root);

}  // namespace tilepost
