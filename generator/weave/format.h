// The woven text's layout: lines that the weaver changed are laid out anew, all others stay as the
// kernel's author wrote them.
#pragma once

#include <string>

#include "llvm/ADT/StringRef.h"

namespace tilepost {

// Formats the lines of `text` that are no lines of `source`.
std::string format_changed_lines(llvm::StringRef text, llvm::StringRef source);

// Leaves at most one empty line between two tokens.
std::string close_gaps(llvm::StringRef text);

}  // namespace tilepost
