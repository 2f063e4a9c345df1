// From text to Spec: guard, YAML, overrides, validation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/spec/spec.h"

namespace tilepost {

// `-D gemm.m=4096`.
struct Override {
  std::string path;   // dotted field name
  std::string value;  // parsed as the field is
};

// Reads a spec. Reports every error it finds and returns nothing if there was one. `name` is what
// messages call the text.
std::optional<Spec> read_spec(llvm::StringRef name, llvm::StringRef text,
                              const std::vector<Override>& overrides, Diagnostics& diagnostics);

// A JSON Schema (draft 2020-12) of format 1, for editors.
std::string spec_json_schema();

}  // namespace tilepost
