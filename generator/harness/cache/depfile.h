// The files that a compiler read, from the rule that it wrote with -MD.
#pragma once

#include <string>
#include <vector>

#include "llvm/ADT/StringRef.h"

namespace tilepost {

// The files that the rule's target depends on, in its order. Follows the escapes of GCC, Clang and
// nvcc: a blank or '#' after a backslash, "$$". Empty if the text is no rule.
std::vector<std::string> read_depfile(llvm::StringRef text);

}  // namespace tilepost
