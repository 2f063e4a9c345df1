// From YAML to Spec: guard, tree, overrides; then generator/spec checks the fields.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/spec/read_fields.h"
#include "generator/spec/spec.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// `-D gemm.m=4096`: a value in YAML that replaces the file's.
using Override = FieldText;

// Reads a spec. Reports every error it finds and returns nothing if there was one. `name` is what
// messages call the text. The last override of a field wins; each becomes a source "<command line>"
// of its own, so that an error in its value shows the override.
std::optional<Spec> read_spec(llvm::StringRef name, llvm::StringRef text,
                              const std::vector<Override>& overrides, Diagnostics& diagnostics);

// A JSON Schema (draft 2020-12) of format 1, for editors.
std::string spec_json_schema();

}  // namespace tilepost
