// The layout of statements on lines, with which edits keep the text as tidy as its author left it.
#pragma once

#include <map>

#include "clang/AST/Stmt.h"
#include "generator/clang/parser.h"
#include "generator/clang/text.h"

namespace tilepost {

// The range of the statement with its ; at the end.
Range range_of(const Parsed& parsed, const clang::Stmt* statement);

class StatementLines {
 public:
  explicit StatementLines(const Parsed& parsed) : parsed_(parsed), source_(parsed.text.text) {}

  bool starts_line(size_t offset) const;
  size_t line_start(size_t offset) const;
  // The column of the first character of the line that `offset` is on.
  size_t indentation(size_t offset) const;

  // Erases a statement with the comments right above and right behind it, and one of the empty
  // lines around it.
  void erase_statement(Range whole, Edits& edits) const;
  // Moves the lines that begin in `range` to the left, except lines inside of literals. The moves
  // of several calls add up. apply() carries them out.
  void move_left(Range range, size_t columns);
  void apply(Edits& edits) const;

  // The indentation of the least indented line in `range`, preprocessor lines not counted.
  size_t least_indentation(Range range) const;

 private:
  const Parsed& parsed_;
  const std::string& source_;
  std::map<size_t, size_t> moves_;  // by start of a line, how many columns to take away
};

}  // namespace tilepost
