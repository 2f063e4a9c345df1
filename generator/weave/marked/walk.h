// The code that a kernel reaches in its source, walked with what stands around each statement.
#pragma once

#include <vector>

#include "clang/AST/Decl.h"
#include "clang/AST/Expr.h"
#include "generator/clang/parser.h"
#include "generator/weave/marks/calls.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost {

// The statements around one, outermost first, itself not among them.
using Around = llvm::ArrayRef<const clang::Stmt*>;

// Hands every statement of the function's body to `use`, each before those inside of it. Bodies of
// lambdas are part of the function that they stand in.
void walk(const clang::FunctionDecl* function,
          llvm::function_ref<void(const clang::Stmt*, Around)> use);

// The definitions in the source that the kernel's instantiation reaches, itself first.
std::vector<const clang::FunctionDecl*> reached_functions(const Parsed& parsed,
                                                          const clang::FunctionDecl* kernel);

// Casts, parentheses, copies and temporaries left out.
const clang::Expr* plain(const clang::Expr* expression);

// The function called, as it is defined if it is; null if that is not known.
const clang::FunctionDecl* callee_of(const clang::CallExpr* call);
Mark mark_called(const clang::CallExpr* call);

// The argument for each parameter: of an operator's call the object is none.
llvm::ArrayRef<const clang::Expr*> arguments_of(const clang::CallExpr* call);

// The variable, parameter or member that an expression names, also through *, & and [].
const clang::ValueDecl* named(const clang::Expr* expression);

// Whether it is one of tilepost's types, or a reference or pointer to one: "Tile".
bool is_type(clang::QualType type, llvm::StringRef name);

}  // namespace tilepost
