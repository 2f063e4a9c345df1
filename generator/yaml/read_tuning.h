// From YAML to the entries of a tuning file: guard, tree; then generator/plan/tuning checks the
// fields.
#pragma once

#include <optional>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/tuning/entry.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// Reads a tuning file. Reports every error it finds and returns nothing if there was one. `name` is
// what messages call the text. The places of the entries point into a source of `diagnostics`.
std::optional<std::vector<TuningEntry>> read_tuning_text(llvm::StringRef name, llvm::StringRef text,
                                                         Diagnostics& diagnostics);

}  // namespace tilepost
