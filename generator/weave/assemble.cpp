#include <set>

#include "generator/weave/format.h"
#include "generator/weave/passes.h"

namespace tilepost {
namespace {

using llvm::StringRef;

// Macros that the text leaves defined, in the order of their definition.
std::vector<std::string> macros_left(StringRef text) {
  const Tokens tokens(text);
  std::vector<std::string> left;
  for (const Token& token : tokens.all()) {
    if (token.kind != clang::tok::hash || !token.starts_line) continue;
    const Token* word = tokens.next(&token);
    const Token* name = word ? tokens.next(word) : nullptr;
    if (!name) continue;
    const bool defines = tokens.text(*word) == "define";
    if (!defines && tokens.text(*word) != "undef") continue;
    std::erase(left, tokens.text(*name).str());
    if (defines) left.push_back(tokens.text(*name).str());
  }
  return left;
}

std::vector<std::string> sorted_includes(const Parsed& parsed) {
  std::set<std::string> includes;
  for (const Inclusion& inclusion : parsed.inclusions) {
    const StringRef path = StringRef(inclusion.spelled).drop_front().drop_back();
    if (path != "tilepost/mark.cuh") includes.insert(inclusion.spelled);
  }
  return {includes.begin(), includes.end()};
}

}  // namespace

WovenKernel assemble(const Parsed& parsed, const WeaveRequest& request, const Pieces& pieces,
                     const Edits& edits) {
  std::string body;
  bool blank = false;
  bool after_open = false;
  for (const Piece& piece : pieces.all) {
    blank |= piece.blank_before;
    if (!piece.keep || piece.kind == Piece::Kind::include) continue;
    const bool close = piece.kind == Piece::Kind::close;
    if (blank && !body.empty() && !(after_open && close)) body += "\n";
    body += edits.apply(parsed.text, piece.text.begin, piece.text.end).text + "\n";
    blank = false;
    after_open = piece.kind == Piece::Kind::open;
  }
  body = format_changed_lines(close_gaps(body), request.source);
  std::string undefs;
  for (const std::string& name : macros_left(body)) undefs += "#undef " + name + "\n";
  if (!undefs.empty()) body += "\n" + undefs;
  return {sorted_includes(parsed), body};
}

}  // namespace tilepost
