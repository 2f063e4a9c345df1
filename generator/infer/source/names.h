// Short names for what the interpreter takes from Clang's tree everywhere.
#pragma once

#include "clang/AST/Type.h"
#include "clang/Basic/SourceLocation.h"

namespace tilepost::inference {

using Where = clang::SourceLocation;
using Type = clang::QualType;

}  // namespace tilepost::inference
