// The source of a user's kernel, with the headers of its author in place.
#pragma once

#include <string_view>

#include "generator/diagnostics.h"
#include "generator/one_file.h"
#include "generator/spec/spec.h"

namespace tilepost {

// Reads the file that the spec names and puts headers into it: those that an inclusion in quotes
// finds beside the file that has it, and those that any finds in kernel.include_dirs. Headers that
// tilepost has stand-ins for, or a CUDA Toolkit has, stay inclusions. Paths are relative to the
// folder of the spec. Reports what cannot be read, at its place, and is then false.
bool read_source(const KernelSpec& kernel, std::string_view spec_path, OneFile& source,
                 Diagnostics& diagnostics);

}  // namespace tilepost
