// The key by which a kept set of objects is found: a hash of everything that goes into the objects
// and is known before compiling.
#pragma once

#include <string>
#include <vector>

#include "generator/harness/commands.h"
#include "generator/harness/work_dir.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// 32 hexadecimal digits of BLAKE3.
std::string hash_of(llvm::StringRef text);

// The hash of the commands without the working folder's path, the sources and all that the tool
// carries for them, the compilers (their files and the versions that they print), and the variables
// of the environment that compilers read. "" where a compiler prints no version.
std::string cache_key(const std::vector<Command>& commands, const WorkDir& dir);

}  // namespace tilepost
