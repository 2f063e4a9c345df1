// The tokens of a source text by offset. They include comments and preprocessor lines, and macros
// are not expanded.
#pragma once

#include <optional>
#include <vector>

#include "clang/Basic/TokenKinds.h"
#include "llvm/ADT/StringRef.h"

namespace tilepost {

struct Token {
  size_t begin, end;
  clang::tok::TokenKind kind;  // keywords are raw_identifier
  bool starts_line;            // first token of its line, comments not counted
};

class Tokens {
 public:
  explicit Tokens(llvm::StringRef text);

  const std::vector<Token>& all() const { return tokens_; }
  llvm::StringRef text(const Token& token) const { return text_.slice(token.begin, token.end); }
  // Index of the first token that ends after `offset`; all().size() if there is none.
  size_t index_at(size_t offset) const;
  // The token that covers `offset`, or nothing.
  const Token* at(size_t offset) const;
  // The next token that is no comment, or nothing.
  const Token* next(const Token* token) const;
  const Token* previous(const Token* token) const;
  // The bracket that closes the ( [ or { at `open`, or nothing. Stops at a comma of the same level
  // if `commas` is set.
  const Token* closing(const Token* open, bool commas = false) const;
  // The end of the preprocessor line that starts at `offset`. The line includes continuations by
  // backslash and block comments, but not the newline.
  size_t end_of_directive(size_t offset) const;

 private:
  llvm::StringRef text_;
  std::vector<Token> tokens_;
};

}  // namespace tilepost
