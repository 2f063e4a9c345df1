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

// Reads a spec whose every given field is one of `given`, in any order. What is refused, and in
// what words, is as for a spec in YAML; a field given twice is refused too. Each text becomes a
// source
// "<field>" of `diagnostics`, into which the places of the Spec point. Nothing if there was an
// error.
std::optional<Spec> read_fields(std::span<const FieldText> given, Diagnostics& diagnostics);

}  // namespace tilepost
