#include "generator/clang/tokens.h"

#include <algorithm>

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"

namespace tilepost {

using clang::tok::TokenKind;

Tokens::Tokens(llvm::StringRef text) : text_(text) {
  clang::LangOptions options;
  options.CPlusPlus = options.CPlusPlus11 = options.CPlusPlus20 = true;
  options.LineComment = options.Digraphs = true;
  clang::Lexer lexer(clang::SourceLocation(), options, text.begin(), text.begin(), text.end());
  lexer.SetCommentRetentionState(true);
  bool line_has_token = false;
  for (;;) {
    clang::Token token;
    const bool last = lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::eof)) break;
    const auto end = static_cast<size_t>(lexer.getBufferLocation() - text.begin());
    if (token.isAtStartOfLine()) line_has_token = false;
    const bool comment = token.is(clang::tok::comment);
    tokens_.push_back({end - token.getLength(), end, token.getKind(), !comment && !line_has_token});
    line_has_token |= !comment;
    if (last) break;
  }
}

size_t Tokens::index_at(size_t offset) const {
  const auto found = std::partition_point(tokens_.begin(), tokens_.end(),
                                          [&](const Token& token) { return token.end <= offset; });
  return static_cast<size_t>(found - tokens_.begin());
}

const Token* Tokens::at(size_t offset) const {
  const size_t index = index_at(offset);
  if (index == tokens_.size() || tokens_[index].begin > offset) return nullptr;
  return &tokens_[index];
}

const Token* Tokens::next(const Token* token) const {
  const Token* const end = tokens_.data() + tokens_.size();
  for (++token; token < end && token->kind == clang::tok::comment;) ++token;
  return token < end ? token : nullptr;
}

const Token* Tokens::previous(const Token* token) const {
  while (token > tokens_.data()) {
    if ((--token)->kind != clang::tok::comment) return token;
  }
  return nullptr;
}

const Token* Tokens::closing(const Token* open, bool commas) const {
  int depth = 0;
  for (const Token* token = open; token; token = next(token)) {
    switch (token->kind) {
      case TokenKind::l_paren:
      case TokenKind::l_square:
      case TokenKind::l_brace:
        ++depth;
        break;
      case TokenKind::r_paren:
      case TokenKind::r_square:
      case TokenKind::r_brace:
        if (--depth == 0) return token;
        break;
      case TokenKind::comma:
        if (commas && depth == 1) return token;
        break;
      default:
        break;
    }
  }
  return nullptr;
}

size_t Tokens::end_of_directive(size_t offset) const {
  size_t end = offset;
  for (;;) {
    end = std::min(text_.find('\n', end), text_.size());
    const Token* token = end > 0 ? at(end) : nullptr;
    if (token && token->kind == clang::tok::comment && token->begin < end) {
      end = token->end;  // a block comment continues the line
    } else if (end < text_.size() && text_.slice(offset, end).rtrim("\r").ends_with("\\")) {
      ++end;
    } else {
      return end;
    }
  }
}

}  // namespace tilepost
