// Numbers in a plain char. Whether it has a sign is the host's: on x86 it has, on ARM it has not.
// So one outside of 0 to 127 is another number where the code is compiled for another host.
#include "clang/AST/RecursiveASTVisitor.h"
#include "generator/infer/interpreter.h"

namespace tilepost::inference {
namespace {

using clang::dyn_cast;

constexpr int64_t kEnd = 128;  // from here on it has a sign, or not

bool is_plain_char(clang::QualType type) {
  if (const auto* enumeration = type->getAs<clang::EnumType>())
    type = enumeration->getDecl()->getIntegerType();
  const auto* builtin = type.isNull() ? nullptr : type->getAs<clang::BuiltinType>();
  return builtin && (builtin->getKind() == clang::BuiltinType::Char_S ||
                     builtin->getKind() == clang::BuiltinType::Char_U);
}

// Looks for a plain char in what Clang computes as a constant, and in all that this names.
class CharFinder : public clang::RecursiveASTVisitor<CharFinder> {
 public:
  explicit CharFinder(const clang::ASTContext& ast) : ast_(ast) {}

  bool found = false;

  void look_at(const clang::Stmt* statement) { TraverseStmt(const_cast<clang::Stmt*>(statement)); }

  bool VisitExpr(clang::Expr* e) {
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
  // What is not computed does not count.
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

bool Interpreter::hangs_on_char(const clang::Expr* e) {
  const auto [at, is_new] = hangs_on_char_.try_emplace(e, false);
  if (!is_new) return at->second;
  CharFinder finder(parsed_.ast);
  finder.look_at(e);
  return at->second = finder.found;
}

// The value of an expression, unknown if it is a plain char's and not the same on all hosts.
Value Interpreter::without_sign(Value value, Type type, Where where) {
  if (!is_plain_char(type) || value.root != Root::number || nodes[value.node].lost) return value;
  if (nodes[value.node].rows)  // m that lead there are tried
    nodes.binary(Op::less, nodes.convert(value.node, {8, false}), nodes.constant(kEnd), kInt);
  const Node& node = nodes[value.node];
  if (node.least >= 0 && node.most < kEnd) return value;
  value.node = unknown("a number in a plain char, which has a sign on some hosts alone", where,
                       nodes.alike(value.node));
  return value;
}

}  // namespace tilepost::inference
