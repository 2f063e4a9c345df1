// From YAML to a machine profile: guard, tree; then generator/plan/machine checks the fields.
#pragma once

#include <optional>

#include "generator/diagnostics.h"
#include "generator/plan/machine/profile.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// Reads a machine profile. Reports every error it finds and returns nothing if there was one.
// `name` is what messages call the text.
std::optional<MachineProfile> read_machine_text(llvm::StringRef name, llvm::StringRef text,
                                                Diagnostics& diagnostics);

}  // namespace tilepost
