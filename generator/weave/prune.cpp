#include <map>

#include "clang/AST/ParentMapContext.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "generator/weave/passes.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;
using llvm::StringRef;

// A label or case inside can be jumped to from outside.
class LabelFinder : public clang::RecursiveASTVisitor<LabelFinder> {
 public:
  bool found = false;
  bool VisitLabelStmt(clang::LabelStmt*) { return !(found = true); }
  bool VisitSwitchCase(clang::SwitchCase*) { return !(found = true); }
};

bool has_label(const clang::Stmt* statement) {
  LabelFinder finder;
  if (statement) finder.TraverseStmt(const_cast<clang::Stmt*>(statement));
  return finder.found;
}

class Pruner : public clang::RecursiveASTVisitor<Pruner> {
 public:
  using Base = clang::RecursiveASTVisitor<Pruner>;
  explicit Pruner(const Parsed& parsed) : parsed_(parsed), source_(parsed.text.text) {}

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
      const Range kept = range_of(taken);
      edits_.erase(whole.begin, kept.begin);
      edits_.erase(kept.end, whole.end);
    }
    return TraverseStmt(taken);
  }

  Edits take() {
    for (const auto& [line, amount] : dedents_) {
      const size_t text = StringRef(source_).find_first_not_of(' ', line);
      edits_.erase(line, std::min(line + amount, text));
    }
    return std::move(edits_);
  }

 private:
  // Down a chain of `else if`, as long as the conditions are constant. Null for a missing else.
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

  // Parts of the text that belong to an #if must stay together.
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

  // From the first character to behind the last, the ; included.
  Range range_of(const clang::Stmt* statement) const {
    const size_t begin = *parsed_.expanded(statement->getBeginLoc());
    size_t end = *parsed_.expanded_end(statement->getEndLoc());
    const Token* last = parsed_.tokens.at(end - 1);
    const Token* after = last ? parsed_.tokens.next(last) : nullptr;
    if (ends_with_semicolon(statement) && after && after->kind == clang::tok::semi) {
      end = after->end;
    }
    return {begin, end};
  }

  // Whether a ; belongs to the statement that the tree's range leaves out.
  static bool ends_with_semicolon(const clang::Stmt* statement) {
    for (;;) {
      if (const auto* branch = dyn_cast<clang::IfStmt>(statement)) {
        statement = branch->getElse() ? branch->getElse() : branch->getThen();
      } else if (const auto* loop = dyn_cast<clang::ForStmt>(statement)) {
        statement = loop->getBody();
      } else if (const auto* range_loop = dyn_cast<clang::CXXForRangeStmt>(statement)) {
        statement = range_loop->getBody();
      } else if (const auto* while_loop = dyn_cast<clang::WhileStmt>(statement)) {
        statement = while_loop->getBody();
      } else if (const auto* attributed = dyn_cast<clang::AttributedStmt>(statement)) {
        statement = attributed->getSubStmt();
      } else {
        return !isa<clang::CompoundStmt, clang::DeclStmt, clang::NullStmt, clang::SwitchStmt,
                    clang::CXXTryStmt>(statement);
      }
    }
  }

  static bool is_empty(const clang::Stmt* statement) {
    const auto* block = dyn_cast<clang::CompoundStmt>(statement);
    return isa<clang::NullStmt>(statement) || (block && block->body_empty());
  }

  // Whether the block's statements may stand without its braces: what it declares must not meet
  // another of that name in the function, be jumped over in a switch, or be destroyed later.
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

  // Whether other statements may stand in its place: none or several.
  bool in_block(const clang::Stmt* statement) const {
    const clang::Stmt* parent = parent_of(statement);
    return parent && isa<clang::CompoundStmt>(parent);
  }

  void drop(const clang::IfStmt* statement, Range whole) {
    if (in_block(statement)) {
      drop_lines(whole);
      return;
    }
    const auto* outer = dyn_cast_or_null<clang::IfStmt>(parent_of(statement));
    if (outer && outer->getElse() == statement) {
      const size_t end = range_of(outer->getThen()).end;  // ` else` goes too
      edits_.erase(end, whole.end);
    } else {
      edits_.replace(whole.begin, whole.end, "{}");
    }
  }

  // The statement with the comments right above it and one of the empty lines around it.
  void drop_lines(Range whole) {
    size_t begin = whole.begin;
    size_t end = whole.end;
    const std::vector<Token>& tokens = parsed_.tokens.all();
    for (size_t i = parsed_.tokens.index_at(begin); i > 0; --i) {
      const Token& before = tokens[i - 1];
      const StringRef gap = StringRef(source_).slice(before.end, begin);
      if (before.kind != clang::tok::comment || gap.count('\n') != 1 ||
          !starts_line(before.begin)) {
        break;
      }
      begin = before.begin;
    }
    for (const Token* next = parsed_.tokens.at(end - 1) + 1;
         next < tokens.data() + tokens.size() && next->kind == clang::tok::comment &&
         !StringRef(source_).slice(end, next->begin).contains('\n');
         ++next) {
      end = next->end;
    }
    if (starts_line(begin)) begin = line_start(begin);
    const size_t text = StringRef(source_).find_first_not_of(" \t", end);
    if (text != StringRef::npos && source_[text] == '\n') end = text + 1;
    const StringRef before = StringRef(source_).take_front(begin).rtrim(" \t\n");
    const bool first = before.ends_with("{");
    const bool blank_above = StringRef(source_).slice(before.size(), begin).count('\n') > 1;
    const size_t following = StringRef(source_).find_first_not_of(" \t\n", end);
    const bool last = following == StringRef::npos || source_[following] == '}';
    if (first || blank_above || last) {
      if (last && blank_above) begin = before.size() + 1;
      const size_t next_line = line_start(following == StringRef::npos ? end : following);
      if ((first || blank_above) && next_line > end) end = next_line;
    }
    edits_.erase(begin, end);
  }

  bool starts_line(size_t offset) const {
    return StringRef(source_).slice(line_start(offset), offset).trim().empty();
  }

  size_t line_start(size_t offset) const {
    return StringRef(source_).take_front(offset).rfind('\n') + 1;
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
    const size_t column = indentation(first, last);
    const size_t wanted = whole.begin - line_start(whole.begin);
    if (column <= wanted || line_start(first) == line_start(whole.begin)) return;
    for (size_t line = source_.find('\n', first); line < last; line = source_.find('\n', line)) {
      ++line;
      const Token* token = parsed_.tokens.at(line);
      const bool in_literal = token && token->begin < line && token->kind != clang::tok::comment;
      if (!in_literal) dedents_[line] += column - wanted;
    }
  }

  // Of the least indented line, preprocessor lines not counted.
  size_t indentation(size_t begin, size_t end) const {
    size_t least = ~size_t{0};
    for (size_t line = line_start(begin); line < end && line != 0;
         line = source_.find('\n', line) + 1) {
      const size_t text = source_.find_first_not_of(' ', line);
      if (text < end && source_[text] != '\n' && source_[text] != '#') {
        least = std::min(least, text - line);
      }
    }
    return least == ~size_t{0} ? 0 : least;
  }

  const Parsed& parsed_;
  const std::string& source_;
  Range function_ = {0, 0};  // the innermost one around
  Edits edits_;
  std::map<size_t, size_t> dedents_;  // start of a line -> columns to take away
};

}  // namespace

Edits prune(const Parsed& parsed) {
  Pruner pruner(parsed);
  for (clang::Decl* decl : parsed.ast.getTranslationUnitDecl()->decls()) {
    if (parsed.expanded(decl->getBeginLoc())) pruner.TraverseDecl(decl);
  }
  return pruner.take();
}

}  // namespace tilepost
