// The rows of the table of fields that describe a kernel of the user's own.
#pragma once

#include "generator/spec/fields.h"

namespace tilepost {

// The section and what is in it.
std::span<const Field> kernel_fields();

}  // namespace tilepost
