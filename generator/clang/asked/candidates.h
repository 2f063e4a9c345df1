// Says why a name with its template arguments is no single function.
#pragma once

#include <string>

#include "clang/AST/ASTContext.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

// The reason, if `asked`, such as lib::gemm<128, float>, names one template with other parameters;
// else that it means several functions.
std::string why_unclear(const clang::ASTContext& ast, llvm::StringRef asked);

}  // namespace tilepost
