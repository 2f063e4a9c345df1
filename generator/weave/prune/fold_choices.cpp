#include "clang/AST/ParentMapContext.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "generator/clang/tree/visitor.h"
#include "generator/weave/passes.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;

// Finds out whether a token of an expression comes from a macro.
class MacroFinder final : public AstVisitor {
 public:
  bool found = false;
  bool VisitStmt(clang::Stmt* statement) override {
    found |= statement->getBeginLoc().isMacroID() || statement->getEndLoc().isMacroID();
    return !found;
  }
};

bool has_macro(const clang::Expr* expression) {
  MacroFinder finder;
  finder.TraverseStmt(const_cast<clang::Expr*>(expression));
  return finder.found;
}

// Whether the expression needs no parentheses, because no operator around it can bind to a part of
// it.
bool is_closed(const clang::Expr* expression) {
  expression = expression->IgnoreImpCasts();
  return isa<clang::DeclRefExpr, clang::IntegerLiteral, clang::FloatingLiteral,
             clang::CXXBoolLiteralExpr, clang::ParenExpr, clang::MemberExpr,
             clang::ArraySubscriptExpr, clang::CXXNamedCastExpr>(expression) ||
         (isa<clang::CallExpr>(expression) && !isa<clang::CXXOperatorCallExpr>(expression));
}

class Folder : public clang::RecursiveASTVisitor<Folder> {
 public:
  using Base = clang::RecursiveASTVisitor<Folder>;
  Folder(const Parsed& parsed, Edits& edits) : parsed_(parsed), edits_(edits) {}

  // Does not fold inside decltype, because the operand may have another type than the choice.
  bool TraverseDecltypeTypeLoc(clang::DecltypeTypeLoc) { return true; }

  bool TraverseConditionalOperator(clang::ConditionalOperator* choice,
                                   DataRecursionQueue* = nullptr) {
    const Operand taken = operand_taken(choice);
    if (!taken.value) return Base::TraverseConditionalOperator(choice);
    replace(choice, taken);
    return TraverseStmt(const_cast<clang::Expr*>(taken.value));
  }

  bool TraverseBinaryOperator(clang::BinaryOperator* operation, DataRecursionQueue* = nullptr) {
    if (operation->isLogicalOp()) {
      if (const clang::Expr* left = operand_that_decides(operation)) {
        const auto range = text_of(left);
        if (range) {
          replace(operation, {left, *range});
          return TraverseStmt(const_cast<clang::Expr*>(left));
        }
      }
    }
    return Base::TraverseBinaryOperator(operation);
  }

 private:
  struct Operand {
    const clang::Expr* value = nullptr;  // null: not folded
    Range text = {0, 0};
  };

  // The operand that a chain of constant choices takes.
  Operand operand_taken(const clang::ConditionalOperator* choice) const {
    Operand taken;
    while (choice) {
      const std::optional<bool> value = constant(choice->getCond());
      if (!value || !can_replace(choice, *value)) break;
      taken.value = *value ? choice->getTrueExpr() : choice->getFalseExpr();
      taken.text = operand_text(choice, *value);
      const clang::Expr* inner = taken.value->IgnoreParenImpCasts();
      choice = dyn_cast<clang::ConditionalOperator>(inner);
    }
    return taken;
  }

  // The value of the condition, if it is constant and no part of it comes from a macro.
  std::optional<bool> constant(const clang::Expr* condition) const {
    bool value = false;
    if (condition->isValueDependent() || condition->isTypeDependent() || has_macro(condition) ||
        !condition->isCXX11ConstantExpr(parsed_.ast) ||
        !condition->EvaluateAsBooleanCondition(value, parsed_.ast)) {
      return std::nullopt;
    }
    return value;
  }

  // Whether the operand means the same in place of the whole choice: it has the same type and
  // refers to the same object.
  bool can_replace(const clang::ConditionalOperator* choice, bool value) const {
    for (const clang::SourceLocation where : {choice->getBeginLoc(), choice->getEndLoc(),
                                              choice->getQuestionLoc(), choice->getColonLoc()})
      if (where.isMacroID() || !parsed_.spelled(where)) return false;
    const clang::Expr* operand = value ? choice->getTrueExpr() : choice->getFalseExpr();
    const clang::Expr* written = operand->IgnoreParenImpCasts();
    if (choice->isTypeDependent() || operand->isTypeDependent()) return false;
    if (parsed_.ast.getCanonicalType(choice->getType()).getUnqualifiedType() !=
        parsed_.ast.getCanonicalType(written->getType()).getUnqualifiedType())
      return false;
    if (choice->isGLValue() && !is_read(choice) &&
        !parsed_.ast.hasSameType(choice->getType(), written->getType()))
      return false;
    // A reference to the choice refers to a copy of the operand.
    const bool copies =
        !choice->isGLValue() && (written->isGLValue() || isa<clang::CXXConstructExpr>(written));
    if (copies && is_referred_to(choice)) return false;
    return !crosses_directive(
        {*parsed_.spelled(choice->getBeginLoc()), *parsed_.expanded_end(choice->getEndLoc())});
  }

  // Whether the expression is only used for the value of the object that it refers to.
  bool is_read(const clang::Expr* expression) const {
    const clang::Stmt* at = parent_of(expression);
    while (isa_and_nonnull<clang::ParenExpr>(at)) at = parent_of(at);
    const auto* cast = dyn_cast_or_null<clang::ImplicitCastExpr>(at);
    return cast && cast->getCastKind() == clang::CK_LValueToRValue;
  }

  bool is_referred_to(const clang::Expr* expression) const {
    for (const clang::Stmt* at = parent_of(expression); at; at = parent_of(at)) {
      if (isa<clang::MaterializeTemporaryExpr>(at)) return true;
      if (!isa<clang::ParenExpr, clang::ImplicitCastExpr>(at)) return false;
    }
    return false;
  }

  // For `a && b` or `a || b` that is not constant: the operand that decides the result, if the
  // other operand is a constant without influence. Otherwise null.
  const clang::Expr* operand_that_decides(const clang::BinaryOperator* operation) const {
    if (operation->getOperatorLoc().isMacroID() || has_macro(operation) || constant(operation))
      return nullptr;
    const bool neutral = operation->getOpcode() == clang::BO_LAnd;
    const auto is_neutral = [&](const clang::Expr* operand) {
      return constant(operand) == std::optional<bool>(neutral);
    };
    const clang::Expr* left = operation->getLHS();
    const clang::Expr* right = operation->getRHS();
    const bool takes_right = is_neutral(left);
    if (takes_right == is_neutral(right)) return nullptr;
    const clang::Expr* taken = takes_right ? right : left;
    if (taken->isTypeDependent() || !taken->IgnoreParenImpCasts()->getType()->isBooleanType())
      return nullptr;
    const auto whole = text_of(operation);
    return whole && !crosses_directive(*whole) && !is_referred_to(operation) ? taken : nullptr;
  }

  // Replaces `whole` by `taken`, and removes parentheses around `whole` that are no longer needed.
  void replace(const clang::Expr* whole, const Operand& taken) {
    Range range = *text_of(whole);
    const clang::Expr* written = taken.value->IgnoreImpCasts();
    const auto* parens = dyn_cast_or_null<clang::ParenExpr>(parent_of(whole));
    if (parens && is_closed(written)) {
      const auto outer = text_of(parens);
      if (outer && !follows_word(outer->begin)) range = *outer;
    }
    const auto* operation = dyn_cast<clang::BinaryOperator>(written);
    const bool comma = operation && operation->isCommaOp();
    edits_.replace(range.begin, taken.text.begin, comma ? "(" : "");
    edits_.replace(taken.text.end, range.end, comma ? ")" : "");
  }

  // The text of an expression that no macro begins or ends.
  std::optional<Range> text_of(const clang::Expr* expression) const {
    if (expression->getBeginLoc().isMacroID() || expression->getEndLoc().isMacroID())
      return std::nullopt;
    const auto begin = parsed_.spelled(expression->getBeginLoc());
    const auto end = parsed_.expanded_end(expression->getEndLoc());
    if (!begin || !end) return std::nullopt;
    return Range{*begin, *end};
  }

  // The text of the operand before the colon if `value` is true, and else of the one behind it.
  Range operand_text(const clang::ConditionalOperator* choice, bool value) const {
    const Token* colon = parsed_.tokens.at(*parsed_.spelled(choice->getColonLoc()));
    if (!value)
      return {parsed_.tokens.next(colon)->begin, *parsed_.expanded_end(choice->getEndLoc())};
    const Token* question = parsed_.tokens.at(*parsed_.spelled(choice->getQuestionLoc()));
    return {parsed_.tokens.next(question)->begin, parsed_.tokens.previous(colon)->end};
  }

  // Whether a word stands right before `offset`, as in return(x) or sizeof(x). Without the
  // parentheses the words would run together.
  bool follows_word(size_t offset) const {
    const char before = offset > 0 ? parsed_.text.text[offset - 1] : ' ';
    return llvm::isAlnum(before) || before == '_';
  }

  // Whether a preprocessor line is in the range. Parts of the text that belong to an #if must stay
  // together.
  bool crosses_directive(Range range) const {
    const std::vector<Token>& tokens = parsed_.tokens.all();
    for (size_t i = parsed_.tokens.index_at(range.begin);
         i < tokens.size() && tokens[i].begin < range.end; ++i)
      if (tokens[i].kind == clang::tok::hash && tokens[i].starts_line) return true;
    return false;
  }

  const clang::Stmt* parent_of(const clang::Stmt* statement) const {
    const auto parents = parsed_.ast.getParents(*statement);
    return parents.empty() ? nullptr : parents[0].get<clang::Stmt>();
  }

  const Parsed& parsed_;
  Edits& edits_;
};

}  // namespace

void fold_choices(const Parsed& parsed, Edits& edits) {
  Folder folder(parsed, edits);
  for (clang::Decl* decl : parsed.ast.getTranslationUnitDecl()->decls())
    if (parsed.expanded(decl->getBeginLoc())) folder.TraverseDecl(decl);
}

}  // namespace tilepost
