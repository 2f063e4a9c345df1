// The guard: what is refused before a YAML parser sees the text.
//
// LLVM's scanner and parser trust their input: a very long line costs them quadratic time, a row of
// commas a stack frame each, bytes that are not UTF-8 pass through inside quotes, tabs and later
// documents give misleading errors or none. The guard makes each of these one precise error. Depth,
// aliases and tags are left to document.h, which knows strings and comments from structure.
#pragma once

#include "generator/diagnostics.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

inline constexpr size_t kMaxSpecBytes = size_t{1} << 20;
inline constexpr size_t kMaxLineBytes = 4096;

// Commas with nothing between them; even two are a mistake, which document.h refuses where it
// stands in a list.
inline constexpr size_t kMaxCommas = 64;

// Checks a whole spec file. `text` must point into a source of `diagnostics`. Reports the first
// fault and returns false if there is one.
bool guard_file(llvm::StringRef text, Diagnostics& diagnostics);

// Checks the value of an override: one line, may be blank.
bool guard_value(llvm::StringRef text, Diagnostics& diagnostics);

}  // namespace tilepost
