// From cases to generated programs.
#pragma once

#include <string>
#include <vector>

#include "generator/harness/progress.h"
#include "generator/harness/sweep.h"
#include "generator/harness/work_dir.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost {

// One generated program.
struct HarnessProgram {
  std::string name;         // unique in this verification
  std::string spec_name;    // file name of the spec
  std::string varied;       // Case::hidden
  std::vector<Plan> plans;  // the program is generated from them
};

// Plans every case. Reports every rejection, with the case's values; empty if there was one.
std::vector<HarnessProgram> plan_cases(const std::vector<Case>& cases, Progress& progress,
                                       Diagnostics& diagnostics);

// The programs for the host target: one for each architecture, with twins in place of CUDA plans. A
// kernel of the user's own runs there itself if `runs_own` is true for the plan; else gemm_host
// runs in its place.
std::vector<HarnessProgram> on_host(const std::vector<HarnessProgram>& programs,
                                    llvm::function_ref<bool(const Plan&)> runs_own);

// Makes the names unique: a name that occurs twice gets "_1", "_2", … .
void make_names_unique(std::vector<HarnessProgram>& programs);

enum class SourcesResult { written, rejected, not_written };

// Whether a program's kernel is the user's own, so that there is a plain kernel to compare it with.
bool has_plain(const HarnessProgram& program);
// Whether the program's kernel is audited. It is not if its tiles go into memory of the ranks that
// own them, because an audit has no such memory.
bool is_audited(const HarnessProgram& program);
// The path of the plain kernel's source in the working folder.
std::string plain_source(const HarnessProgram& program);

// Generates the programs into "programs/" of the working folder, and plain kernels into "plain/".
// Rejected: the weaver refused a program or the user interrupted. The reason has been reported.
SourcesResult write_programs(const std::vector<HarnessProgram>& programs, const WorkDir& dir,
                             Progress& progress, Diagnostics& diagnostics);

}  // namespace tilepost
