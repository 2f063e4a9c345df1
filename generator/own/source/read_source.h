// The source of a user's kernel, with the headers of its author in place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/one_file.h"
#include "generator/spec/spec.h"

namespace tilepost {

// The include folders that generated code must be compiled with, as absolute paths:
// kernel.system_include_dirs. For a CUTLASS kernel the spec's own folder and kernel.include_dirs
// come first, so that the kernel can be included by the name that the spec gives it.
std::vector<std::string> folders_of(const KernelSpec& kernel, std::string_view spec_path);

// Reads the file that the spec names and puts headers in place. A header in quotes is looked for
// beside the file that includes it, and every header in kernel.include_dirs. Headers stay
// inclusions if tilepost has stand-ins for them, if a CUDA Toolkit has them, or if they are found
// nowhere. Paths are relative to the folder of the spec. A CUTLASS kernel is compiled as it is, and
// so are its headers. If something cannot be read, reports this at its place and returns false.
bool read_source(const KernelSpec& kernel, std::string_view spec_path, OneFile& source,
                 Diagnostics& diagnostics);

}  // namespace tilepost
