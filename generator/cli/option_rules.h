// What the values of flags may be together, as far as the values alone tell.
#pragma once

#include <string>
#include <vector>

#include "generator/cli/options.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// The words of "80,sm_90a", each as the spec spells it: sm_80, sm_90a. CMake's ARCHS takes the
// same.
std::vector<std::string> split_archs(llvm::StringRef text);
// These words as one value of the spec: "[sm_80,sm_90a]".
std::string arch_list(const std::vector<std::string>& archs);

// generate, explain, verify and bench: what is wrong with the plans of each spec that are asked
// for; "" if nothing is.
std::string mistake_of_cases(const Options& options);

// The same of what profile writes and reads.
std::string mistake_of_profile(const Options& options);

// The same of what bench makes a table of without measuring.
std::string mistake_of_records(const Options& options);

// The same of how bench measures.
std::string mistake_of_bench(const Options& options);

// The same of what catalogue compiles, and of whether -o names its folder.
std::string mistake_of_catalogue(const Options& options, bool names_folder);

}  // namespace tilepost
