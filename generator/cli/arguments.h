// What of a command line is settled before LLVM's parser reads it.
#pragma once

#include <string>

#include "llvm/Support/CommandLine.h"

namespace tilepost {

// LLVM's libraries bring some 300 flags of their own, which say nothing to this tool's users.
// Removes them, and leaves `own`, --help and --version.
void drop_foreign_flags(const llvm::cl::Option& own);

// Why arguments cannot be taken: LLVM would read more arguments from the file that one beginning
// with @ names. "" if they can.
std::string refuse_arguments(int argc, char** argv);

// Why words such as -og or --out cannot be taken, where there is a flag -o. Of these LLVM says, on
// standard error whatever --json asks for, that -o "may not occur within a group". "" if there are
// none.
std::string refuse_letters(int argc, char** argv, const llvm::cl::SubCommand& command);

}  // namespace tilepost
