// Short names for types of Clang's that all parts of the interpreter use.
#pragma once

#include "clang/AST/Type.h"
#include "clang/Basic/SourceLocation.h"

namespace tilepost::inference {

using Where = clang::SourceLocation;
using Type = clang::QualType;

}  // namespace tilepost::inference
