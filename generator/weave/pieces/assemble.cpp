#include <set>
#include <vector>

#include "clang/Format/Format.h"
#include "generator/weave/passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

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
    const bool is_first = llvm::is_contained(parsed.first, "#include " + inclusion.spelled);
    if (path != "tilepost/mark.cuh" && !is_first) includes.insert(inclusion.spelled);
  }
  return {includes.begin(), includes.end()};
}

// Formats the lines of `text` that are not in `source`, because the weaver changed them. All other
// lines stay as the kernel's author wrote them.
std::string format_changed_lines(StringRef text, StringRef source) {
  llvm::SmallVector<StringRef, 0> lines;
  source.split(lines, '\n');
  llvm::StringSet<> known;
  for (const StringRef line : lines) known.insert(line);
  lines.clear();
  text.split(lines, '\n');
  std::vector<clang::tooling::Range> changed;
  for (const StringRef line : lines) {
    if (known.contains(line)) continue;
    changed.emplace_back(static_cast<unsigned>(line.begin() - text.begin()),
                         static_cast<unsigned>(line.size()));
  }
  clang::format::FormatStyle style =
      clang::format::getGoogleStyle(clang::format::FormatStyle::LK_Cpp);
  style.ColumnLimit = 100;
  style.DerivePointerAlignment = false;
  const clang::tooling::Replacements edits =
      clang::format::reformat(style, text, changed, "kernel.cu");
  llvm::Expected<std::string> formatted = clang::tooling::applyAllReplacements(text, edits);
  if (formatted) return std::move(*formatted);
  llvm::consumeError(formatted.takeError());
  return text.str();
}

// Leaves at most one empty line between two tokens.
std::string close_gaps(StringRef text) {
  const Tokens tokens(text);
  std::string tidy;
  size_t behind = 0;
  for (const Token& token : tokens.all()) {
    const StringRef gap = text.slice(behind, token.begin);
    // A gap may have a backslash that continues a #define and is part of no token. Such a gap
    // stays.
    if (gap.trim().empty() && gap.count('\n') > 1) {
      tidy += "\n\n";
      tidy += gap.drop_front(gap.rfind('\n') + 1);
    } else {
      tidy += gap;
    }
    tidy += text.slice(token.begin, token.end);
    behind = token.end;
  }
  return tidy + "\n";
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
  return {parsed.first, sorted_includes(parsed), body};
}

}  // namespace tilepost
