// Helpers for messages: places, and the user's words in quotes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SMLoc.h"

namespace tilepost {

// The range of `text`, which must point into a source.
llvm::SMRange range_of(llvm::StringRef text);

// 'text', cut after 60 bytes so that a long word cannot flood the message.
std::string quote(llvm::StringRef text);

// "a, b, c"
std::string join(llvm::ArrayRef<llvm::StringRef> words);

}  // namespace tilepost
