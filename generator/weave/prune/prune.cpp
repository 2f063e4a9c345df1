#include "clang/AST/ParentMapContext.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "generator/clang/tree/visitor.h"
#include "generator/weave/passes.h"
#include "generator/weave/prune/layout.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;
using llvm::StringRef;

// Finds labels and cases, to which code outside can jump.
class LabelFinder final : public AstVisitor {
 public:
  bool found = false;
  bool VisitLabelStmt(clang::LabelStmt*) override { return !(found = true); }
  bool VisitSwitchCase(clang::SwitchCase*) override { return !(found = true); }
};

bool has_label(const clang::Stmt* statement) {
  LabelFinder finder;
  if (statement) finder.TraverseStmt(const_cast<clang::Stmt*>(statement));
  return finder.found;
}

class Pruner : public clang::RecursiveASTVisitor<Pruner> {
 public:
  using Base = clang::RecursiveASTVisitor<Pruner>;
  Pruner(const Parsed& parsed, StatementLines& layout, Edits& edits)
      : parsed_(parsed), source_(parsed.text.text), layout_(layout), edits_(edits) {}

  bool TraverseDecl(clang::Decl* decl) {
    const Range outer = function_;
    if (decl && isa<clang::FunctionDecl>(decl)) {
      const auto begin = parsed_.expanded(decl->getBeginLoc());
      const auto end = parsed_.expanded_end(decl->getEndLoc());
      if (begin && end) function_ = {*begin, *end};
    }
    const bool go_on = Base::TraverseDecl(decl);
    function_ = outer;
    return go_on;
  }

  bool TraverseIfStmt(clang::IfStmt* statement, DataRecursionQueue* = nullptr) {
    if (!decided(statement)) return Base::TraverseIfStmt(statement);
    const Range whole = range_of(statement);
    clang::Stmt* taken = branch_taken(statement);
    if (!taken || is_empty(taken)) {
      drop(statement, whole);
      return true;
    }
    if (const auto* block = dyn_cast<clang::CompoundStmt>(taken);
        block && in_block(statement) && can_unwrap(statement, block, whole)) {
      unwrap(block, whole);
    } else {
      keep_one(range_of(taken), whole);
    }
    return TraverseStmt(taken);
  }

 private:
  // The branch that a chain of `else if` with constant conditions takes. Null for a missing else.
  clang::Stmt* branch_taken(const clang::IfStmt* statement) const {
    for (;;) {
      clang::Stmt* taken = const_cast<clang::Stmt*>(*decided(statement) ? statement->getThen()
                                                                        : statement->getElse());
      const auto* next = dyn_cast_or_null<clang::IfStmt>(taken);
      if (!next || !decided(next)) return taken;
      statement = next;
    }
  }

  // The value of the condition, if it is constant and the statement can be replaced.
  std::optional<bool> decided(const clang::IfStmt* statement) const {
    const clang::Expr* condition = statement->getCond();
    if (statement->isConsteval() || statement->hasInitStorage() || statement->hasVarStorage() ||
        condition->isValueDependent() || condition->isTypeDependent()) {
      return std::nullopt;
    }
    if (statement->getBeginLoc().isMacroID() || statement->getEndLoc().isMacroID()) {
      return std::nullopt;
    }
    bool value = false;
    if (!condition->isCXX11ConstantExpr(parsed_.ast) ||
        !condition->EvaluateAsBooleanCondition(value, parsed_.ast)) {
      return std::nullopt;
    }
    if (has_label(value ? statement->getElse() : statement->getThen())) return std::nullopt;
    if (crosses_directive(range_of(statement))) return std::nullopt;
    return value;
  }

  // Whether a preprocessor line other than a pragma is in the range. Parts of the text that belong
  // to an #if must stay together.
  bool crosses_directive(Range range) const {
    const std::vector<Token>& tokens = parsed_.tokens.all();
    for (size_t i = parsed_.tokens.index_at(range.begin);
         i < tokens.size() && tokens[i].begin < range.end; ++i) {
      if (tokens[i].kind != clang::tok::hash || !tokens[i].starts_line) continue;
      const Token* word = parsed_.tokens.next(&tokens[i]);
      if (word && parsed_.tokens.text(*word) != "pragma") return true;
    }
    return false;
  }

  Range range_of(const clang::Stmt* statement) const {
    return tilepost::range_of(parsed_, statement);
  }

  static bool is_empty(const clang::Stmt* statement) {
    const auto* block = dyn_cast<clang::CompoundStmt>(statement);
    return isa<clang::NullStmt>(statement) || (block && block->body_empty());
  }

  // Whether the block's statements may stand without the block's braces. A variable that the block
  // declares must not have a name that the function uses elsewhere, must not be jumped over in a
  // switch, and must need no destructor.
  bool can_unwrap(const clang::IfStmt* statement, const clang::CompoundStmt* block,
                  Range whole) const {
    const bool in_switch = isa_and_nonnull<clang::SwitchStmt>(parent_of(parent_of(statement)));
    for (const clang::Stmt* inner : block->body()) {
      const auto* declaration = dyn_cast<clang::DeclStmt>(inner);
      if (!declaration) continue;
      for (const clang::Decl* decl : declaration->decls()) {
        const auto* variable = dyn_cast<clang::VarDecl>(decl);
        if (!variable || variable->getType().isDestructedType() != clang::QualType::DK_none ||
            in_switch || is_named_outside(variable->getName(), whole)) {
          return false;
        }
      }
    }
    return true;
  }

  bool is_named_outside(StringRef name, Range block) const {
    for (const StringRef word : identifiers(parsed_, function_)) {
      const auto at = static_cast<size_t>(word.data() - source_.data());
      if (word == name && !block.contains(at)) return true;
    }
    return false;
  }

  const clang::Stmt* parent_of(const clang::Stmt* statement) const {
    const auto parents = parsed_.ast.getParents(*statement);
    return parents.empty() ? nullptr : parents[0].get<clang::Stmt>();
  }

  // Whether no statement or several statements may take the place of this one.
  bool in_block(const clang::Stmt* statement) const {
    const clang::Stmt* parent = parent_of(statement);
    return parent && isa<clang::CompoundStmt>(parent);
  }

  void drop(const clang::IfStmt* statement, Range whole) {
    if (in_block(statement)) {
      layout_.erase_statement(whole, edits_);
      return;
    }
    const auto* outer = dyn_cast_or_null<clang::IfStmt>(parent_of(statement));
    if (outer && outer->getElse() == statement) {
      const size_t end = range_of(outer->getThen()).end;  // ` else` is removed too
      edits_.erase(end, whole.end);
    } else {
      edits_.replace(whole.begin, whole.end, "{}");
    }
  }

  // `if (…) a; else …` becomes `a;`, moved left if it stood on a line of its own.
  void keep_one(Range kept, Range whole) {
    edits_.erase(whole.begin, kept.begin);
    edits_.erase(kept.end, whole.end);
    const size_t column = layout_.indentation(kept.begin);
    const size_t wanted = layout_.indentation(whole.begin);
    if (column > wanted) layout_.move_left(kept, column - wanted);
  }

  // `if (…) { a; b; } else …` becomes `a; b;`, moved left.
  void unwrap(const clang::CompoundStmt* block, Range whole) {
    const size_t open = *parsed_.expanded(block->getLBracLoc()) + 1;
    const size_t close = *parsed_.expanded(block->getRBracLoc());
    const StringRef inside = StringRef(source_).slice(open, close);
    const size_t first = open + inside.find_first_not_of(" \t\n");
    const size_t last = open + inside.rtrim().size();
    edits_.erase(whole.begin, first);
    edits_.erase(last, whole.end);
    const size_t column = layout_.least_indentation({first, last});
    const size_t wanted = whole.begin - layout_.line_start(whole.begin);
    if (column <= wanted || layout_.line_start(first) == layout_.line_start(whole.begin)) return;
    layout_.move_left({first, last}, column - wanted);
  }

  const Parsed& parsed_;
  const std::string& source_;
  StatementLines& layout_;
  Edits& edits_;
  Range function_ = {0, 0};  // the innermost function around the statement
};

}  // namespace

Edits prune(const Parsed& parsed) {
  Edits edits;
  StatementLines layout(parsed);
  Pruner pruner(parsed, layout, edits);
  for (clang::Decl* decl : parsed.ast.getTranslationUnitDecl()->decls()) {
    if (parsed.expanded(decl->getBeginLoc())) pruner.TraverseDecl(decl);
  }
  layout.apply(edits);
  fold_choices(parsed, edits);
  drop_unused_locals(parsed, edits);
  return edits;
}

}  // namespace tilepost
