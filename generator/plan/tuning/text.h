// A tuning file as text: YAML that can be committed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/tuning/entry.h"
#include "generator/spec/value.h"

namespace tilepost {

// All entries with all fields, in their order. read_tuning gives back the same entries.
std::string write_tuning(const std::vector<TuningEntry>& entries);

// Reads the mapping `root`: the entries with all their fields, each within its bounds, and no
// others. Reports every fault at its place, and returns nothing if there was one.
std::optional<std::vector<TuningEntry>> read_tuning(const Value& root, Diagnostics& diagnostics);

}  // namespace tilepost
