// Helpers for messages: the user's words in quotes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// 'text', cut after 60 bytes so that a long word cannot flood the message.
std::string quote(llvm::StringRef text);

// "a, b, c"
std::string join(llvm::ArrayRef<llvm::StringRef> words);

}  // namespace tilepost
