// The source of a user's kernel, with the headers of its author in place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/diagnostics.h"
#include "generator/one_file.h"
#include "generator/spec/spec.h"

namespace tilepost {

// The folders that generated code is to be compiled with, absolute: kernel.system_include_dirs. In
// front of them, of a kernel of CUTLASS's, the spec's, so that the kernel itself can be included as
// the spec names it, and kernel.include_dirs.
std::vector<std::string> folders_of(const KernelSpec& kernel, std::string_view spec_path);

// Reads the file that the spec names and puts headers into it: those that an inclusion in quotes
// finds beside the file that has it, and those that any finds in kernel.include_dirs. Headers that
// tilepost has stand-ins for, a CUDA Toolkit has or that are found nowhere stay inclusions. Paths
// are relative to the folder of the spec. A kernel of CUTLASS's is compiled as it is, and so are
// its headers. Reports what cannot be read, at its place, and is then false.
bool read_source(const KernelSpec& kernel, std::string_view spec_path, OneFile& source,
                 Diagnostics& diagnostics);

}  // namespace tilepost
