// The flags of nvcc that a spec may give for a kernel of the user's own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "generator/spec/spec.h"

namespace tilepost {

// Why kernel.flags does not take the flag, or "". Flags are taken that change how the kernel is
// compiled and leave generated code and the runtime right and fast.
std::string obstacle_of_flag(std::string_view flag);

// The kernel's flags in nvcc's long spelling, each once, in the order of the spec. They have been
// checked.
std::vector<std::string> flags_of(const KernelSpec& kernel);

// The macro that nvcc defines under the flag in that spelling, or "". Clang, which always does what
// such a flag asks for, is given the macro alone.
std::string_view macro_of_flag(std::string_view flag);

}  // namespace tilepost
