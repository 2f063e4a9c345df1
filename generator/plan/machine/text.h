// A machine profile as text: YAML that people may edit.
#pragma once

#include <optional>
#include <string>

#include "generator/diagnostics.h"
#include "generator/plan/machine/profile.h"
#include "generator/spec/value.h"

namespace tilepost {

// All fields with their values, each with its unit and meaning in a comment. read_machine gives
// back the same profile, bit for bit.
std::string write_machine(const MachineProfile& profile);

// Reads the mapping `root`: all fields, each within its bounds, and no others. Reports every fault
// at its place and returns nothing if there was one.
std::optional<MachineProfile> read_machine(const Value& root, Diagnostics& diagnostics);

}  // namespace tilepost
