// What keeps Clang, whose parser recurses and has no limits of its own, from being brought down.
#pragma once

#include "generator/clang/report.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost {

// The largest source, bytes.
constexpr size_t kMaxSourceBytes = size_t{1} << 20;

// Keeps a source that is no kernel away from Clang: refuses one that is too long or nested too
// deeply.
void check_limits(const Text& text, Report& report);

// Calls `body` on a thread of its own, with the stack that parsing needs of a source that
// check_limits lets through. Throws what it throws, or std::bad_alloc.
void do_on_large_stack(llvm::function_ref<void()> body);

}  // namespace tilepost
