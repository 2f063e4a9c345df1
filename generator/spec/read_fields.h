// From fields given as text to a Spec: how a program describes what it plans at run time.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "generator/diagnostics.h"
#include "generator/spec/spec.h"

namespace tilepost {

// `gemm.m=4096`: a field by its dotted path, or the bound of a size by "gemm.m.max".
struct FieldText {
  std::string path;
  std::string value;  // a word, a number, `[a, b]`, `{max: n}` or `auto`; words may stand in quotes
};

// Reads a spec that has the fields of `given`, in any order, and no others. It is refused for the
// same reasons and in the same words as a spec in YAML, and also if a field is given twice. Each
// text becomes a source "<field>" of `diagnostics`, into which the places of the Spec point.
// Returns nothing if there was an error.
std::optional<Spec> read_fields(std::span<const FieldText> given, Diagnostics& diagnostics);

}  // namespace tilepost
