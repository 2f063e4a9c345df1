#include "generator/weave/marked/walk.h"

#include "clang/AST/ExprCXX.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "llvm/ADT/SetVector.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;

class Walker : public clang::RecursiveASTVisitor<Walker> {
 public:
  explicit Walker(llvm::function_ref<void(const clang::Stmt*, Around)> use) : use_(use) {}

  bool TraverseStmt(clang::Stmt* statement) {
    if (!statement) return true;
    use_(statement, around_);
    around_.push_back(statement);
    const bool go_on = RecursiveASTVisitor::TraverseStmt(statement);
    around_.pop_back();
    return go_on;
  }

 private:
  llvm::function_ref<void(const clang::Stmt*, Around)> use_;
  std::vector<const clang::Stmt*> around_;
};

}  // namespace

void walk(const clang::FunctionDecl* function,
          llvm::function_ref<void(const clang::Stmt*, Around)> use) {
  Walker(use).TraverseStmt(function->getBody());
}

std::vector<const clang::FunctionDecl*> reached_functions(const Parsed& parsed,
                                                          const clang::FunctionDecl* kernel) {
  llvm::SetVector<const clang::FunctionDecl*> found;
  found.insert(kernel);
  for (size_t i = 0; i < found.size(); ++i) {
    walk(found[i], [&](const clang::Stmt* statement, Around) {
      const clang::FunctionDecl* called = nullptr;
      if (const auto* call = dyn_cast<clang::CallExpr>(statement)) called = callee_of(call);
      if (const auto* made = dyn_cast<clang::CXXConstructExpr>(statement))
        called = made->getConstructor()->getDefinition();
      if (called && called->getBody() && parsed.in_main(called)) found.insert(called);
    });
  }
  return {found.begin(), found.end()};
}

const clang::Expr* plain(const clang::Expr* expression) {
  while (expression) {
    const clang::Expr* inner = expression->IgnoreUnlessSpelledInSource()->IgnoreParenCasts();
    if (const auto* pseudo = dyn_cast<clang::PseudoObjectExpr>(inner))
      inner = pseudo->getSyntacticForm();
    if (const auto* opaque = dyn_cast<clang::OpaqueValueExpr>(inner);
        opaque && opaque->getSourceExpr())
      inner = opaque->getSourceExpr();
    if (const auto* made = dyn_cast<clang::CXXConstructExpr>(inner);
        made && made->getNumArgs() == 1 && made->getConstructor()->isCopyOrMoveConstructor())
      inner = made->getArg(0);
    if (inner == expression) break;
    expression = inner;
  }
  return expression;
}

const clang::FunctionDecl* callee_of(const clang::CallExpr* call) {
  const clang::FunctionDecl* function = call->getDirectCallee();
  const clang::FunctionDecl* definition = function ? function->getDefinition() : nullptr;
  return definition ? definition : function;
}

Mark mark_called(const clang::CallExpr* call) {
  const clang::FunctionDecl* function = call->getDirectCallee();
  if (!function) return Mark::none;
  const auto* pattern = function->getPrimaryTemplate();
  return mark_of(pattern ? static_cast<const clang::NamedDecl*>(pattern) : function);
}

llvm::ArrayRef<const clang::Expr*> arguments_of(const clang::CallExpr* call) {
  const llvm::ArrayRef<const clang::Expr*> all(call->getArgs(), call->getNumArgs());
  const auto* method = dyn_cast<clang::CXXOperatorCallExpr>(call)
                           ? dyn_cast_or_null<clang::CXXMethodDecl>(call->getDirectCallee())
                           : nullptr;
  return method && !method->isStatic() && !all.empty() ? all.drop_front() : all;
}

const clang::ValueDecl* named(const clang::Expr* expression) {
  expression = expression ? plain(expression) : nullptr;
  if (!expression) return nullptr;
  if (const auto* name = dyn_cast<clang::DeclRefExpr>(expression)) return name->getDecl();
  if (const auto* member = dyn_cast<clang::MemberExpr>(expression)) return member->getMemberDecl();
  if (const auto* operation = dyn_cast<clang::UnaryOperator>(expression);
      operation &&
      (operation->getOpcode() == clang::UO_Deref || operation->getOpcode() == clang::UO_AddrOf))
    return named(operation->getSubExpr());
  if (const auto* element = dyn_cast<clang::ArraySubscriptExpr>(expression))
    return named(element->getBase());
  return nullptr;
}

bool is_type(clang::QualType type, llvm::StringRef name) {
  type = type.getNonReferenceType();
  if (!type->getPointeeType().isNull()) type = type->getPointeeType();
  const clang::RecordDecl* record = type->getAsRecordDecl();
  if (!record || !record->getIdentifier() || record->getName() != name) return false;
  const auto* space = dyn_cast<clang::NamespaceDecl>(record->getDeclContext());
  return space && space->getName() == "tilepost";
}

}  // namespace tilepost
