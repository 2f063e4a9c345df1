#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"
#include "generator/weave/marked/check_marks.h"
#include "generator/weave/marked/walk.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;

class OutputCheck {
 public:
  OutputCheck(const Parsed& parsed, const Functions& functions, const MarkFacts& facts)
      : parsed_(parsed), functions_(functions), facts_(facts) {
    for (const clang::ParmVarDecl* parameter : functions.front()->parameters())
      if (!facts.out.empty() && parameter->getName() == facts.out) outputs_.insert(parameter);
  }

  void run() {
    // Repeats the search until it finds no new pointer to the output, because a function that gets
    // such a pointer must be searched again.
    for (size_t known = 0; known != outputs_.size() + 1;) {
      known = outputs_.size() + 1;
      for (const clang::FunctionDecl* function : functions_)
        walk(function, [&](const clang::Stmt* statement, Around around) {
          const auto* name = dyn_cast<clang::DeclRefExpr>(statement);
          if (name && outputs_.contains(name->getDecl())) look_at(name, around);
        });
    }
    for (const clang::DeclRefExpr* name : wrong_)
      parsed_.error(name->getBeginLoc(),
                    "the output is used here, outside of tilepost::out and tilepost::out_base: "
                    "where the tile goes is not known here; store through "
                    "tilepost::out_base(" +
                        name->getDecl()->getName() + ", grid, tile, ld)");
    for (const clang::FunctionDecl* function : functions_)
      walk(function, [&](const clang::Stmt* statement, Around) {
        if (const auto* call = dyn_cast<clang::CallExpr>(statement)) check_row_length(call);
      });
  }

 private:
  void look_at(const clang::DeclRefExpr* name, Around around) {
    const clang::Expr* value = name;
    for (; !around.empty(); around = around.drop_back()) {
      const clang::Stmt* outer = around.back();
      if (isa<clang::CastExpr, clang::ParenExpr, clang::ExprWithCleanups>(outer)) {
        value = clang::cast<clang::Expr>(outer);
        continue;
      }
      if (!goes_on(value, outer)) wrong_.insert(name);
      return;
    }
  }

  // Whether the check can follow this use of the pointer: as an argument of a mark or of a function
  // that the kernel reaches, as the value of a variable, in a condition or in a capture. Uses of a
  // variable or parameter that gets the pointer are checked in turn.
  bool goes_on(const clang::Expr* value, const clang::Stmt* outer) {
    if (const auto* lambda = dyn_cast<clang::LambdaExpr>(outer))
      return follow_capture(value, lambda);
    if (value->getType()->isVoidType()) return true;
    if (value->getType()->isBooleanType()) return true;
    if (const auto* operation = dyn_cast<clang::BinaryOperator>(outer))
      return operation->isEqualityOp();
    if (const auto* declared = dyn_cast<clang::DeclStmt>(outer)) {
      for (const clang::Decl* decl : declared->decls()) {
        const auto* variable = dyn_cast<clang::VarDecl>(decl);
        if (!variable || variable->getInit() != value) continue;
        outputs_.insert(variable);
        return variable->getType()->isPointerType();
      }
      return false;
    }
    const auto* call = dyn_cast<clang::CallExpr>(outer);
    return call && is_known_call(value, call);
  }

  // A capture with an initialiser makes a new variable that points to the output.
  bool follow_capture(const clang::Expr* value, const clang::LambdaExpr* lambda) {
    for (const clang::LambdaCapture& capture : lambda->captures()) {
      const auto* variable =
          capture.capturesVariable() ? dyn_cast<clang::VarDecl>(capture.getCapturedVar()) : nullptr;
      if (variable && variable->isInitCapture() && plain(variable->getInit()) == plain(value))
        outputs_.insert(variable);
    }
    return true;
  }

  bool is_known_call(const clang::Expr* value, const clang::CallExpr* call) {
    const Mark mark = mark_called(call);
    if (mark == Mark::out || mark == Mark::out_base) return call->getArg(0) == value;
    const clang::FunctionDecl* function = callee_of(call);
    if (!function || !llvm::is_contained(functions_, function)) return false;
    const auto arguments = arguments_of(call);
    for (size_t i = 0; i < arguments.size() && i < function->getNumParams(); ++i)
      if (arguments[i] == value) outputs_.insert(function->getParamDecl(static_cast<unsigned>(i)));
    return true;
  }

  // ---- The length of rows (ld)

  std::optional<int64_t> value_of(const clang::Expr* expression) const {
    clang::Expr::EvalResult result;
    if (!expression->isValueDependent() && expression->EvaluateAsInt(result, parsed_.ast))
      return result.Val.getInt().getExtValue();
    const auto* name = dyn_cast<clang::DeclRefExpr>(plain(expression));
    const auto* variable = name ? dyn_cast<clang::VarDecl>(name->getDecl()) : nullptr;
    if (!variable) return std::nullopt;
    if (isa<clang::ParmVarDecl>(variable)) {
      const auto found = facts_.numbers.find(variable->getNameAsString());
      const bool of_kernel = variable->getDeclContext() == functions_.front();
      return of_kernel && found != facts_.numbers.end() ? std::optional(found->second)
                                                        : std::nullopt;
    }
    const bool fixed = variable->getType().isConstQualified() && variable->getInit();
    return fixed ? value_of(variable->getInit()) : std::nullopt;
  }

  void check_row_length(const clang::CallExpr* call) const {
    const Mark mark = mark_called(call);
    if (mark != Mark::out && mark != Mark::out_base) return;
    const clang::Expr* length = call->getArg(call->getNumArgs() - 1);
    const std::optional<int64_t> value = value_of(length);
    if (!value || *value == facts_.n) return;
    parsed_.error(length->getBeginLoc(), "rows of the output are n = " + std::to_string(facts_.n) +
                                             " elements long, and the mark is told " +
                                             std::to_string(*value) + "; ld is n");
  }

  const Parsed& parsed_;
  const Functions& functions_;
  const MarkFacts& facts_;
  llvm::SetVector<const clang::ValueDecl*> outputs_;  // pointers to the whole output
  llvm::SetVector<const clang::DeclRefExpr*> wrong_;
};

}  // namespace

void check_marks(const Parsed& parsed, const Instance& instance, const MarkFacts& facts) {
  const Functions functions = reached_functions(parsed, instance.function);
  check_output(parsed, functions, facts);
  check_tiles(parsed, functions, facts);
  check_callers(parsed, functions);
}

void check_output(const Parsed& parsed, const Functions& functions, const MarkFacts& facts) {
  OutputCheck(parsed, functions, facts).run();
}

}  // namespace tilepost
