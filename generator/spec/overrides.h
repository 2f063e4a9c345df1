// `-D path=value`: values from the command line take the place of the file's before it is read.
#pragma once

#include <vector>

#include "generator/spec/document.h"
#include "generator/spec/read_spec.h"

namespace tilepost {

// Parses every override as the file is parsed and puts it into `root`, a mapping. Each becomes a
// source "<command line>" of its own, so that later errors in the value show the override. Reports
// unknown paths and values that are not YAML.
void apply_overrides(const std::vector<Override>& overrides, Value& root, Diagnostics& diagnostics);

}  // namespace tilepost
