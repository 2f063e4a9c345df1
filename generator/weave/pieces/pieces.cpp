#include "generator/weave/pieces/pieces.h"

#include <algorithm>
#include <tuple>

#include "clang/AST/DeclCXX.h"

namespace tilepost {
namespace {

using clang::dyn_cast;
using clang::isa;
using llvm::StringRef;

// A part of the text that is a declaration or a bracket according to the tree.
struct Span {
  Range range;
  Piece::Kind kind;
  const clang::Decl* decl;
};

class Spans {
 public:
  explicit Spans(const Parsed& parsed) : parsed_(parsed) {
    collect(parsed.ast.getTranslationUnitDecl());
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
      return std::tie(a.range.begin, a.range.end) < std::tie(b.range.begin, b.range.end);
    });
  }

  std::vector<Span> spans;

 private:
  void collect(const clang::DeclContext* context) {
    for (const clang::Decl* decl : context->decls()) {
      if (decl->isImplicit()) continue;
      const auto begin = parsed_.expanded(decl->getBeginLoc());
      const auto end = parsed_.expanded_end(decl->getEndLoc());
      if (!begin || !end) continue;
      clang::SourceLocation brace;
      if (const auto* space = dyn_cast<clang::NamespaceDecl>(decl)) brace = space->getRBraceLoc();
      if (const auto* linkage = dyn_cast<clang::LinkageSpecDecl>(decl)) {
        if (linkage->hasBraces()) brace = linkage->getRBraceLoc();
      }
      if (brace.isValid()) {
        add_brackets(decl, *begin, brace);
      } else {
        spans.push_back({{*begin, behind_body(decl, *end)}, Piece::Kind::declaration, decl});
      }
    }
  }

  // The end of a declaration. The tree's range of a function does not include a body that was
  // skipped.
  size_t behind_body(const clang::Decl* decl, size_t end) const {
    const auto* function = dyn_cast<clang::FunctionDecl>(decl);
    if (!function || !function->hasSkippedBody()) return end;
    const Token* open = parsed_.tokens.at(end - 1);
    while (open && open->kind != clang::tok::l_brace) open = parsed_.tokens.next(open);
    const Token* close = open ? parsed_.tokens.closing(open) : nullptr;
    return close ? close->end : end;
  }

  void add_brackets(const clang::Decl* decl, size_t begin, clang::SourceLocation brace) {
    const Token* open = parsed_.tokens.at(begin);
    while (open && open->kind != clang::tok::l_brace) open = parsed_.tokens.next(open);
    if (brace.isMacroID() || decl->getBeginLoc().isMacroID() || !open) {
      parsed_.error(decl->getBeginLoc(),
                    "a macro opens or closes this scope; write its braces out");
      return;
    }
    const size_t close = *parsed_.expanded(brace);
    // `namespace a::b {` is two namespaces with one pair of braces.
    const bool nested = !closes_.empty() && closes_.back() == close;
    if (!nested) {
      spans.push_back({{begin, open->end}, Piece::Kind::open, decl});
      spans.push_back({{close, close + 1}, Piece::Kind::close, decl});
    }
    closes_.push_back(close);
    collect(clang::Decl::castToDeclContext(decl));
    closes_.pop_back();
  }

  const Parsed& parsed_;
  std::vector<size_t> closes_;
};

class Cutter {
 public:
  explicit Cutter(const Parsed& parsed)
      : parsed_(parsed),
        source_(parsed.text.text),
        tokens_(parsed.tokens.all()),
        spans_(Spans(parsed).spans) {}

  Pieces run() {
    while (index_ < tokens_.size()) {
      const Token& token = tokens_[index_];
      const auto skipped = std::find_if(parsed_.skipped.begin(), parsed_.skipped.end(),
                                        [&](Range range) { return range.contains(token.begin); });
      if (skipped != parsed_.skipped.end()) {
        const size_t last = parsed_.tokens.index_at(skipped->end - 1);
        const bool inside = last < tokens_.size() && tokens_[last].begin < skipped->end;
        add(Piece::Kind::skipped, token.begin, tokens_[inside ? last : last - 1].end);
      } else if (token.kind == clang::tok::comment) {
        if (comments_ == kNone) comments_ = token.begin;
        ++index_;
      } else if (token.kind == clang::tok::hash && token.starts_line) {
        cut_directive(token);
      } else if (is_instantiation(token)) {
        const Token* end = &token;
        while (end && end->kind != clang::tok::semi) end = parsed_.tokens.next(end);
        add(Piece::Kind::instantiation, token.begin, end ? end->end : source_.size());
      } else {
        cut_declaration(token);
      }
    }
    return std::move(pieces_);
  }

 private:
  static constexpr size_t kNone = ~size_t{0};

  bool is_instantiation(const Token& token) const {
    const Token* word = &token;
    if (parsed_.tokens.text(*word) == "extern") word = parsed_.tokens.next(word);
    if (!word || parsed_.tokens.text(*word) != "template") return false;
    const Token* after = parsed_.tokens.next(word);
    return after && after->kind != clang::tok::less;
  }

  void cut_declaration(const Token& token) {
    while (span_ < spans_.size() && spans_[span_].range.end <= token.begin) ++span_;
    if (span_ == spans_.size()) {  // only a macro that expands to nothing is left
      add(Piece::Kind::declaration, token.begin, token.end);
      return;
    }
    const Span& first = spans_[span_];
    if (const size_t behind = end_of_unread(token.begin, first.range.begin); behind != kNone) {
      add(Piece::Kind::declaration, token.begin, behind);
      return;
    }
    if (first.kind == Piece::Kind::close && token.begin < first.range.begin) {
      // A macro instantiates a template here, for which the tree has no declaration.
      add(Piece::Kind::instantiation, token.begin, token_before(first.range.begin).end);
      return;
    }
    size_t end = first.range.end;
    std::vector<const clang::Decl*> declarations = {first.decl};
    if (first.kind == Piece::Kind::declaration) {
      end = include_semicolon(end);
      for (size_t i = span_ + 1; i < spans_.size() && spans_[i].range.begin < end; ++i) {
        end = std::max(end, include_semicolon(spans_[i].range.end));
        declarations.push_back(spans_[i].decl);
      }
    }
    Piece& piece = add(first.kind, token.begin, std::max(end, token.end));
    piece.declarations = std::move(declarations);
    const int at = static_cast<int>(pieces_.all.size()) - 1;
    if (piece.kind == Piece::Kind::open) scopes_.push_back(at);
    if (piece.kind == Piece::Kind::close) close_scope(piece, Piece::Kind::open, at);
  }

  // The last token in front of the place `at` that is not a comment.
  const Token& token_before(size_t at) const {
    size_t i = parsed_.tokens.index_at(at);
    while (tokens_[--i].kind == clang::tok::comment) continue;
    return tokens_[i];
  }

  // The end of code that Clang could not read, between `begin` and the next declaration: the last ;
  // or } there.
  size_t end_of_unread(size_t begin, size_t next) const {
    const bool any = std::any_of(parsed_.left_out.begin(), parsed_.left_out.end(),
                                 [&](size_t at) { return begin <= at && at < next; });
    if (!any) return kNone;
    for (size_t i = parsed_.tokens.index_at(next); i-- > 0 && tokens_[i].begin >= begin;) {
      const bool ends =
          tokens_[i].kind == clang::tok::semi || tokens_[i].kind == clang::tok::r_brace;
      if (ends && tokens_[i].end <= next) return tokens_[i].end;
    }
    return kNone;
  }

  size_t include_semicolon(size_t end) const {
    for (size_t i = parsed_.tokens.index_at(end); i < tokens_.size(); ++i) {
      if (tokens_[i].kind == clang::tok::comment) continue;
      return tokens_[i].kind == clang::tok::semi ? tokens_[i].end : end;
    }
    return end;
  }

  void cut_directive(const Token& hash) {
    const size_t end = parsed_.tokens.end_of_directive(hash.begin);
    const Token* word = parsed_.tokens.next(&hash);
    const StringRef name = word && word->begin < end ? parsed_.tokens.text(*word) : StringRef();
    const Token* argument = word ? parsed_.tokens.next(word) : nullptr;
    const StringRef first =
        argument && argument->begin < end ? parsed_.tokens.text(*argument) : StringRef();
    const int at = static_cast<int>(pieces_.all.size());
    if (name.starts_with("if")) {
      add(Piece::Kind::condition, hash.begin, end).name = "if";
      scopes_.push_back(at);
    } else if (name == "endif" || name.starts_with("el")) {
      Piece& piece = add(Piece::Kind::condition, hash.begin, end);
      piece.name = name == "endif" ? "endif" : "else";
      close_scope(piece, Piece::Kind::condition, at);
      if (piece.name == "else" && piece.partner >= 0) scopes_.push_back(piece.partner);
    } else if (name == "define" || name == "undef") {
      Piece& piece = add(Piece::Kind::define, hash.begin, end);
      piece.name = first.str();
    } else if (name == "include" || (name == "pragma" && first == "once")) {
      add(Piece::Kind::include, hash.begin, end);
    } else {
      add(Piece::Kind::pragma, hash.begin, end);
    }
  }

  // Leaves the innermost scope of that kind, which need not be the innermost scope: braces and #if
  // may cross.
  void close_scope(Piece& piece, Piece::Kind kind, int at) {
    for (size_t i = scopes_.size(); i-- > 0;) {
      Piece& opener = pieces_.all[static_cast<size_t>(scopes_[i])];
      if (opener.kind != kind) continue;
      piece.partner = scopes_[i];
      piece.parents.assign(scopes_.begin(), scopes_.begin() + static_cast<ptrdiff_t>(i));
      opener.partner = at;
      scopes_.erase(scopes_.begin() + static_cast<ptrdiff_t>(i));
      return;
    }
  }

  // Adds the piece with the comments around it and moves on behind it.
  Piece& add(Piece::Kind kind, size_t begin, size_t end) {
    const bool head = pieces_.all.empty() && comments_ != kNone;
    if (head && (kind == Piece::Kind::include || blank_between(last_comment_end(), begin))) {
      push(Piece::Kind::comment, {comments_, comments_}, {comments_, last_comment_end()});
      comments_ = kNone;
    }
    const size_t text_begin = comments_ == kNone ? begin : comments_;
    comments_ = kNone;
    index_ = parsed_.tokens.index_at(end);
    size_t text_end = end;
    size_t column = kNone;
    for (; index_ < tokens_.size() && tokens_[index_].kind == clang::tok::comment; ++index_) {
      const StringRef gap = StringRef(source_).slice(text_end, tokens_[index_].begin);
      const size_t own_column = column_of(tokens_[index_].begin);
      if (gap.contains('\n') && (own_column != column || gap.count('\n') > 1)) break;
      column = own_column;
      text_end = tokens_[index_].end;
    }
    return push(kind, {begin, end}, {text_begin, text_end});
  }

  Piece& push(Piece::Kind kind, Range code, Range text) {
    Piece piece;
    piece.kind = kind;
    piece.code = code;
    piece.text = text;
    piece.blank_before = blank_between(behind_, text.begin);
    piece.parents = scopes_;
    behind_ = text.end;
    pieces_.all.push_back(std::move(piece));
    return pieces_.all.back();
  }

  size_t last_comment_end() const {
    size_t i = index_;
    while (i > 0 && tokens_[i - 1].kind != clang::tok::comment) --i;
    return i > 0 ? tokens_[i - 1].end : 0;
  }

  bool blank_between(size_t begin, size_t end) const {
    return StringRef(source_).slice(begin, end).count('\n') > 1;
  }

  size_t column_of(size_t offset) const {
    return offset - (StringRef(source_).take_front(offset).rfind('\n') + 1);
  }

  const Parsed& parsed_;
  const std::string& source_;
  const std::vector<Token>& tokens_;
  std::vector<Span> spans_;
  Pieces pieces_;
  size_t index_ = 0;         // the index of the next token
  size_t span_ = 0;          // the index of the next span
  size_t comments_ = kNone;  // where comments not yet part of a piece begin
  size_t behind_ = 0;        // end of the last piece
  std::vector<int> scopes_;
};

}  // namespace

int Pieces::at(size_t offset) const {
  const auto after = std::partition_point(
      all.begin(), all.end(), [&](const Piece& piece) { return piece.code.end <= offset; });
  if (after == all.end() || !after->code.contains(offset)) return -1;
  if (after->kind != Piece::Kind::declaration) return -1;
  return static_cast<int>(after - all.begin());
}

bool Pieces::kept(size_t offset) const {
  const auto after = std::partition_point(
      all.begin(), all.end(), [&](const Piece& piece) { return piece.text.end <= offset; });
  return after != all.end() && after->text.contains(offset) && after->keep;
}

Pieces cut_into_pieces(const Parsed& parsed) {
  return Cutter(parsed).run();
}

std::vector<StringRef> identifiers(const Parsed& parsed, Range range) {
  std::vector<StringRef> names;
  const std::vector<Token>& tokens = parsed.tokens.all();
  for (size_t i = parsed.tokens.index_at(range.begin);
       i < tokens.size() && tokens[i].begin < range.end; ++i) {
    if (tokens[i].kind == clang::tok::raw_identifier)
      names.push_back(parsed.tokens.text(tokens[i]));
  }
  return names;
}

}  // namespace tilepost
