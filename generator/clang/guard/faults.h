// Names the kernel's line when the generator itself fails there, by a null that it follows or a
// stack that is too small. Without this the process would end without a word.
#pragma once

#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost {

// The generator failed. `place` is the last offset in the kernel's text that it noted.
class Fault : public std::runtime_error {
 public:
  Fault(const std::string& what, std::optional<size_t> at) : std::runtime_error(what), place(at) {}

  const std::optional<size_t> place;
};

// Notes the offset in the kernel's text that this thread is at.
void note_place(std::optional<size_t> offset);
std::optional<size_t> noted_place();

// Calls `body`. Returns 0, or the number of the signal that ended it, such as SIGSEGV. The objects
// of such a body are leaked, for they may be in any state.
int call_guarded(llvm::function_ref<void()> body);

}  // namespace tilepost
