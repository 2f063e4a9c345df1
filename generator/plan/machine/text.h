// A machine profile as text: YAML that people may edit.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/plan/machine/profile.h"
#include "generator/spec/value.h"

namespace tilepost {

// What else a profile's text says, in comments.
struct MachineNotes {
  std::vector<std::string> head;                // lines behind the first one
  std::map<std::string, std::string> of_field;  // behind the field's meaning, by its dotted path
};

// All fields with their values, each with its unit and meaning in a comment. read_machine gives
// back the same profile, bit for bit.
std::string write_machine(const MachineProfile& profile, const MachineNotes& notes = {});

// The dotted path of every field: "collectives.groups.all_reduce.latency_us". Fields of rows of the
// catalogue of kernels have the row's name in place of a number.
std::vector<std::string> machine_paths(const MachineProfile& profile);

// Reads the mapping `root`: all fields, each within its bounds, and no others. Reports every fault
// at its place and returns nothing if there was one.
std::optional<MachineProfile> read_machine(const Value& root, Diagnostics& diagnostics);

}  // namespace tilepost
