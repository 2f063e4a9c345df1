// Walks the code that a kernel reaches in its source, with the statements around each statement.
#pragma once

#include <vector>

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "generator/clang/parser.h"
#include "generator/weave/marks/calls.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost {

// The statements that contain a statement, the outermost first.
using Around = llvm::ArrayRef<const clang::Stmt*>;

// Hands every statement of the function's body to `use`, before the statements inside of it. A
// lambda's body is part of the function that the lambda is in.
void walk(const clang::FunctionDecl* function,
          llvm::function_ref<void(const clang::Stmt*, Around)> use);

// The kernel's instantiation, and then the functions defined in the source that it reaches.
std::vector<const clang::FunctionDecl*> reached_functions(const Parsed& parsed,
                                                          const clang::FunctionDecl* kernel);

// The expression without casts, parentheses, copies and temporaries around it.
const clang::Expr* plain(const clang::Expr* expression);

// The called function's definition, or its declaration if it has no definition. Null if the
// function is not known.
const clang::FunctionDecl* callee_of(const clang::CallExpr* call);
Mark mark_called(const clang::CallExpr* call);

// The argument for each parameter. The object of a member operator is left out.
llvm::ArrayRef<const clang::Expr*> arguments_of(const clang::CallExpr* call);

// The variable, parameter or member that an expression names, also through *, & and [].
const clang::ValueDecl* named(const clang::Expr* expression);

// Whether `type` is tilepost's type of this name, such as "Tile", or a reference or pointer to it.
bool is_type(clang::QualType type, llvm::StringRef name);

}  // namespace tilepost
