#include "generator/infer/source/plain_char.h"

#include <set>

#include "clang/AST/RecursiveASTVisitor.h"

namespace tilepost::inference {

using clang::dyn_cast;

namespace {

constexpr int64_t kEnd = 128;  // from here on the host's signedness matters

bool is_plain_char(clang::QualType type) {
  if (const auto* enumeration = type->getAs<clang::EnumType>())
    type = enumeration->getDecl()->getIntegerType();
  const auto* builtin = type.isNull() ? nullptr : type->getAs<clang::BuiltinType>();
  return builtin && (builtin->getKind() == clang::BuiltinType::Char_S ||
                     builtin->getKind() == clang::BuiltinType::Char_U);
}

// Looks for such a plain char in an expression that Clang computes as a constant, and in everything
// that the expression names.
class CharFinder : public clang::RecursiveASTVisitor<CharFinder> {
 public:
  explicit CharFinder(const clang::ASTContext& ast) : ast_(ast) {}

  bool found = false;

  void look_at(const clang::Stmt* statement) { TraverseStmt(const_cast<clang::Stmt*>(statement)); }

  bool VisitExpr(clang::Expr* e) {
    // The text of a static_assert is a literal without a type.
    if (e->getType().isNull()) return true;
    clang::Expr::EvalResult result;
    if (e->isTypeDependent() || !is_plain_char(e->getType())) return true;
    const bool known = !e->isValueDependent() && e->EvaluateAsInt(result, ast_);
    found = !known || result.Val.getInt().getExtValue() < 0 ||
            result.Val.getInt().getExtValue() >= kEnd;
    return !found;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* e) { return follow(e->getDecl()); }
  bool VisitMemberExpr(clang::MemberExpr* e) { return follow(e->getMemberDecl()); }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* e) { return follow(e->getConstructor()); }
  // Operands of sizeof and types are not computed, so they do not count.
  bool TraverseUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr*) { return true; }
  bool TraverseTypeLoc(clang::TypeLoc) { return true; }

 private:
  bool follow(const clang::ValueDecl* decl) {
    if (!seen_.insert(decl->getCanonicalDecl()).second) return !found;
    const clang::FunctionDecl* body = nullptr;
    if (const auto* function = dyn_cast<clang::FunctionDecl>(decl);
        function && function->hasBody(body))
      look_at(body->getBody());
    if (const auto* variable = dyn_cast<clang::VarDecl>(decl))
      look_at(variable->getAnyInitializer());
    if (const auto* number = dyn_cast<clang::EnumConstantDecl>(decl))
      look_at(number->getInitExpr());
    return !found;
  }

  const clang::ASTContext& ast_;
  std::set<const clang::Decl*> seen_;
};

}  // namespace

bool PlainChars::decide(const clang::Expr* e) {
  const auto [at, is_new] = decided_.try_emplace(e, false);
  if (!is_new) return at->second;
  CharFinder finder(ast_);
  finder.look_at(e);
  return at->second = finder.found;
}

// A number in a plain char differs between hosts unless its bounds say otherwise.
bool PlainChars::differs_by_host(Value value, Type type) {
  if (!is_plain_char(type) || value.root != Root::number || nodes_[value.node].lost) return false;
  if (nodes_[value.node].rows)  // a decision: each m that leads there is tried
    nodes_.binary(Op::less, nodes_.convert(value.node, {8, false}), nodes_.constant(kEnd), kInt);
  const Node& node = nodes_[value.node];
  return node.least < 0 || node.most >= kEnd;
}

}  // namespace tilepost::inference
