// Limits that keep Clang from crashing. Its parser recurses and has no limits of its own.
#pragma once

#include "generator/clang/report.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost {

// The largest source, bytes.
constexpr size_t kMaxSourceBytes = size_t{1} << 20;

// Refuses a source that is too long or nested too deeply to be a kernel, before Clang reads it.
void check_limits(const Text& text, Report& report);

// Calls `body` on a thread of its own, whose stack suffices to parse any source that check_limits()
// lets through. Throws std::bad_alloc, or Fault where `body` throws anything else or gets a signal.
void do_on_large_stack(llvm::function_ref<void()> body);

}  // namespace tilepost
