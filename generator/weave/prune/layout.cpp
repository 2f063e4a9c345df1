#include "generator/weave/prune/layout.h"

#include <algorithm>

#include "clang/AST/StmtCXX.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;
using llvm::StringRef;

// Whether the statement ends with a ; that the tree's range does not include.
bool ends_with_semicolon(const clang::Stmt* statement) {
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

}  // namespace

Range range_of(const Parsed& parsed, const clang::Stmt* statement) {
  const size_t begin = *parsed.expanded(statement->getBeginLoc());
  size_t end = *parsed.expanded_end(statement->getEndLoc());
  const Token* last = parsed.tokens.at(end - 1);
  const Token* after = last ? parsed.tokens.next(last) : nullptr;
  if (ends_with_semicolon(statement) && after && after->kind == clang::tok::semi) end = after->end;
  return {begin, end};
}

bool StatementLines::starts_line(size_t offset) const {
  return StringRef(source_).slice(line_start(offset), offset).trim().empty();
}

size_t StatementLines::line_start(size_t offset) const {
  return StringRef(source_).take_front(offset).rfind('\n') + 1;
}

size_t StatementLines::indentation(size_t offset) const {
  const size_t line = line_start(offset);
  return std::min(source_.find_first_not_of(" \t", line), source_.size()) - line;
}

void StatementLines::erase_statement(Range whole, Edits& edits) const {
  size_t begin = whole.begin;
  size_t end = whole.end;
  const std::vector<Token>& tokens = parsed_.tokens.all();
  for (size_t i = parsed_.tokens.index_at(begin); i > 0; --i) {
    const Token& before = tokens[i - 1];
    const StringRef gap = StringRef(source_).slice(before.end, begin);
    if (before.kind != clang::tok::comment || gap.count('\n') != 1 || !starts_line(before.begin))
      break;
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
  edits.erase(begin, end);
}

void StatementLines::move_left(Range range, size_t columns) {
  for (size_t line = source_.find('\n', range.begin); line < range.end;
       line = source_.find('\n', line)) {
    ++line;
    const Token* token = parsed_.tokens.at(line);
    const bool in_literal = token && token->begin < line && token->kind != clang::tok::comment;
    if (!in_literal) moves_[line] += columns;
  }
}

void StatementLines::apply(Edits& edits) const {
  for (const auto& [line, columns] : moves_) {
    const size_t text = StringRef(source_).find_first_not_of(' ', line);
    edits.erase(line, std::min(line + columns, text));
  }
}

size_t StatementLines::least_indentation(Range range) const {
  size_t least = ~size_t{0};
  for (size_t line = line_start(range.begin); line < range.end && line != 0;
       line = source_.find('\n', line) + 1) {
    const size_t text = source_.find_first_not_of(' ', line);
    if (text < range.end && source_[text] != '\n' && source_[text] != '#')
      least = std::min(least, text - line);
  }
  return least == ~size_t{0} ? 0 : least;
}

}  // namespace tilepost
