#include "generator/weave/format.h"

#include <vector>

#include "clang/Format/Format.h"
#include "generator/weave/tokens.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSet.h"

namespace tilepost {

using llvm::StringRef;

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

std::string close_gaps(StringRef text) {
  const Tokens tokens(text);
  std::string tidy;
  size_t behind = 0;
  for (const Token& token : tokens.all()) {
    const StringRef gap = text.slice(behind, token.begin);
    // A backslash that carries a #define on is in no token: such a gap stays.
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

}  // namespace tilepost
