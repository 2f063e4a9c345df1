// The guard refuses what must not reach a YAML parser.
//
// LLVM's scanner and parser trust their input. A very long line costs them quadratic time, and each
// comma of a row of commas a stack frame. Bytes that are not UTF-8 pass through inside quotes. Tabs
// and further documents give misleading errors or none. The guard makes each of these one precise
// error. document.h checks depth, aliases and tags, because it can tell strings and comments from
// structure.
#pragma once

#include "generator/diagnostics.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

inline constexpr size_t kMaxSpecBytes = size_t{1} << 20;
inline constexpr size_t kMaxLineBytes = 4096;

// The most commas with nothing between them. Even two are a mistake, but only document.h can tell
// whether they are in a list; it refuses them there.
inline constexpr size_t kMaxCommas = 64;

// What messages call a file, and how such a file begins.
struct GuardedFile {
  const char* noun;   // "spec"
  const char* start;  // "tilepost: 1"
  const char* page;   // of the documentation
};
inline constexpr GuardedFile kSpecFile = {"spec", "tilepost: 1", "docs/spec.md"};
inline constexpr GuardedFile kTuningFile = {"tuning file", "tilepost_tuning: 1", "docs/tuning.md"};
inline constexpr GuardedFile kMachineFile = {"machine profile", "tilepost_machine: 1",
                                             "docs/internals/machine.md"};

// Checks a whole file. `text` must point into a source of `diagnostics`. Reports the first
// fault and returns false if there is one.
bool guard_file(llvm::StringRef text, Diagnostics& diagnostics,
                const GuardedFile& file = kSpecFile);

// Checks the value of an override: one line, may be blank.
bool guard_value(llvm::StringRef text, Diagnostics& diagnostics);

}  // namespace tilepost
