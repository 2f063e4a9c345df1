// The rows of the table of fields that describe a kernel of the user's own.
#pragma once

#include "generator/spec/fields.h"

namespace tilepost {

// Values of fields that are true or false.
inline constexpr Spelling kTruths[] = {{"false", 0}, {"true", 1}};

// The section `kernel` and the fields in it.
std::span<const Field> kernel_fields();

}  // namespace tilepost
