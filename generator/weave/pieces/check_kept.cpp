#include "generator/clang/tree/visitor.h"
#include "generator/weave/marks/calls.h"
#include "generator/weave/passes.h"

namespace tilepost {
namespace {

using llvm::StringRef;

// Refuses declarations of names that the woven text needs for itself.
class KeptNames final : public AstVisitor {
 public:
  KeptNames(const Parsed& parsed, StringRef view_type) : parsed_(parsed), view_type_(view_type) {}

  bool VisitNamedDecl(clang::NamedDecl* decl) override {
    if (!decl->getIdentifier() || !parsed_.in_main(decl)) return true;
    const StringRef name = decl->getName();
    if (name == "view_" || name == "tilepost" || name == view_type_) {
      parsed_.error(decl->getLocation(),
                    "'" + name + "' is a name that the woven kernel needs for itself; rename it");
    }
    return true;
  }

 private:
  const Parsed& parsed_;
  StringRef view_type_;
};

// The last token of `tilepost::<mark>` that starts at `token`, or null.
const Token* end_of_mark(const Tokens& tokens, const Token& token) {
  if (tokens.text(token) != "tilepost") return nullptr;
  const Token* colons = tokens.next(&token);
  if (!colons || colons->kind != clang::tok::coloncolon) return nullptr;
  const Token* name = tokens.next(colons);
  return name && mark_named(tokens.text(*name)) != Mark::none ? name : nullptr;
}

// Refuses marks and inclusions in kept text that the preprocessor left out of this parse, because
// the weaver could not change them.
void check_skipped(const Parsed& parsed, const Pieces& pieces, Range skipped) {
  const std::vector<Token>& tokens = parsed.tokens.all();
  for (size_t i = parsed.tokens.index_at(skipped.begin);
       i < tokens.size() && tokens[i].begin < skipped.end; ++i) {
    if (!pieces.kept(tokens[i].begin)) continue;
    if (const Token* name = end_of_mark(parsed.tokens, tokens[i])) {
      parsed.error_at({tokens[i].begin, name->end},
                      "the preprocessor leaves out this '" + parsed.tokens.text(*name) +
                          "' when the kernel is woven; use `if constexpr` or move the mark out of "
                          "the #if");
    }
    if (tokens[i].kind != clang::tok::hash || !tokens[i].starts_line) continue;
    const Token* word = parsed.tokens.next(&tokens[i]);
    if (word && parsed.tokens.text(*word) == "include") {
      parsed.error_at({tokens[i].begin, word->end},
                      "an #include that the preprocessor leaves out cannot be woven; include it "
                      "unconditionally or remove it");
    }
  }
}

}  // namespace

void check_kept(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces) {
  KeptNames visitor(parsed, request.view_type);
  for (const Piece& piece : pieces.all) {
    if (!piece.keep) continue;
    for (const clang::Decl* decl : piece.declarations) {
      if (piece.kind == Piece::Kind::declaration) {
        visitor.TraverseDecl(const_cast<clang::Decl*>(decl));
      } else if (const auto* space = clang::dyn_cast<clang::NamespaceDecl>(decl);
                 space && piece.kind == Piece::Kind::open) {
        visitor.VisitNamedDecl(const_cast<clang::NamespaceDecl*>(space));
      }
    }
  }
  for (const Range skipped : parsed.skipped) check_skipped(parsed, pieces, skipped);
  for (const Inclusion& inclusion : parsed.inclusions) {
    if (pieces.at(inclusion.at) >= 0 && pieces.kept(inclusion.at)) {
      parsed.error_at({inclusion.at, inclusion.at + 1},
                      "an #include inside a declaration cannot be woven; include " +
                          inclusion.spelled + " at the top of the file");
    }
  }
}

}  // namespace tilepost
