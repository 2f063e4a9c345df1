// Keeps sources that are no kernels away from Clang, whose parser recurses and has no limits of its
// own.
#pragma once

#include "generator/weave/report.h"

namespace tilepost {

// The largest source, bytes.
constexpr size_t kMaxSourceBytes = size_t{1} << 20;
// The deepest nesting of (, [ and {: Clang's own default (-fbracket-depth).
constexpr int kMaxNesting = 256;
// The most tokens of one expression or declarator, and the most else of one file.
constexpr int kMaxRun = 10000;
// What parsing needs at these limits.
constexpr unsigned kStackBytes = 128u << 20;

// Refuses a source beyond the limits.
void guard_source(const Text& text, Report& report);

}  // namespace tilepost
