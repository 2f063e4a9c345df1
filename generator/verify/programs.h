// From cases to generated programs.
#pragma once

#include <string>
#include <vector>

#include "generator/verify/progress.h"
#include "generator/verify/sweep.h"

namespace tilepost {

// One generated program.
struct VerifyProgram {
  std::string name;         // unique in this verification
  std::string spec_name;    // file name of the spec
  std::string varied;       // Case::hidden
  std::vector<Plan> plans;  // what it is generated from
};

// Plans every case. Reports every rejection, with the case's values; empty if there was one.
std::vector<VerifyProgram> plan_cases(const std::vector<Case>& cases, Progress& progress,
                                      Diagnostics& diagnostics);

// The same programs for the host target: one per plan, CUDA plans as their twins.
std::vector<VerifyProgram> on_host(const std::vector<VerifyProgram>& programs);

// Makes the names unique: a name that occurs twice gets "_1", "_2", … .
void make_names_unique(std::vector<VerifyProgram>& programs);

// A C++ string literal.
std::string literal(llvm::StringRef text);

// registry.cpp of the harness.
std::string emit_registry(const std::vector<VerifyProgram>& programs);

}  // namespace tilepost
