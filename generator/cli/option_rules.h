// What the values of flags may be together, as far as the values alone tell.
#pragma once

#include <string>

#include "generator/cli/options.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// "80,sm_90a" as the spec has it: "[sm_80,sm_90a]". CMake's ARCHS takes the same.
std::string arch_list(llvm::StringRef text);

// generate, explain, verify and bench: what is wrong with the plans of each spec that are asked
// for; "" if nothing is.
std::string mistake_of_cases(const Options& options);

// The same of what profile writes and reads.
std::string mistake_of_profile(const Options& options);

}  // namespace tilepost
