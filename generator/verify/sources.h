// Fills the working folder with all that the compiler will read.
#pragma once

#include <vector>

#include "generator/verify/programs.h"
#include "generator/verify/progress.h"
#include "generator/verify/work_dir.h"

namespace tilepost {

enum class SourcesResult { written, rejected, not_written };

// Writes what the tool carries: the runtime, the public headers, the harnesses and, if asked for,
// the templates.
bool write_resources(bool templates, const WorkDir& dir, Diagnostics& diagnostics);

// Generates the programs into "programs/".
SourcesResult write_programs(const std::vector<VerifyProgram>& programs, const WorkDir& dir,
                             Progress& progress, Diagnostics& diagnostics);

// All of a verification: resources, programs, registry. Rejected: the weaver refused a program or
// the user interrupted. The reason has been reported.
SourcesResult write_sources(const std::vector<VerifyProgram>& programs, bool cuda,
                            const WorkDir& dir, Progress& progress, Diagnostics& diagnostics);

}  // namespace tilepost
