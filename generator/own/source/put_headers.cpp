#include "generator/own/source/put_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "clang/Basic/TokenKinds.h"
#include "clang/Lex/DependencyDirectivesScanner.h"
#include "generator/weave/parse/limits.h"
#include "llvm/ADT/SmallVector.h"

namespace tilepost {
namespace {

using llvm::StringRef;
namespace scan = clang::dependency_directives_scan;

// As far as compilers let inclusions nest (GCC: 200).
constexpr size_t kDeepest = 200;

class Splicer {
 public:
  Splicer(OneFile& one, FindHeader find, OneFileError& error)
      : one_(one), find_(find), error_(error) {}

  bool splice(size_t file, size_t depth) {
    llvm::SmallVector<scan::Token, 64> tokens;
    llvm::SmallVector<scan::Directive, 32> directives;
    // A copy: `files` grows.
    const std::string text = one_.files[file].text;
    // What it cannot read is Clang's to complain of.
    if (clang::scanSourceForDependencyDirectives(text, tokens, directives)) directives.clear();
    size_t done = 0;
    std::string guard;
    for (const scan::Directive& directive : directives) {
      if (directive.Tokens.empty()) continue;
      const size_t begin = directive.Tokens.front().Offset;
      if (directive.Kind == scan::pp_pragma_once && guard.empty()) {
        guard = kHeaderGuard + std::to_string(file) + "_";
        copy(text, file, {done, begin});
        write(fmt::format("#ifndef {0}\n#define {0}\n", guard), file, begin);
        done = line_end(text, begin);
      }
      if (directive.Kind != scan::pp_include) continue;
      const std::optional<Name> name = name_of(text, directive);
      if (!name) continue;
      std::optional<OneFile::File> header = find_(one_.files[file], name->text, name->quoted);
      if (!header) continue;
      copy(text, file, {done, begin});
      if (!put(std::move(*header), file, begin, depth)) return false;
      done = name->end;
    }
    copy(text, file, {done, text.size()});
    if (!guard.empty()) write("#endif  // " + guard + "\n", file, text.size());
    return true;
  }

 private:
  struct Name {
    StringRef text;
    bool quoted;
    size_t end;
  };

  static std::optional<Name> name_of(StringRef text, const scan::Directive& directive) {
    for (const scan::Token& token : directive.Tokens) {
      const StringRef word = text.substr(token.Offset, token.Length);
      const bool quoted = word.starts_with("\"") && word.ends_with("\"");
      if (word.size() > 2 && (quoted || (word.starts_with("<") && word.ends_with(">"))))
        return Name{word.drop_front().drop_back(), quoted, token.getEnd()};
    }
    return std::nullopt;
  }

  static size_t line_end(StringRef text, size_t at) {
    return std::min(text.find('\n', at), text.size());
  }

  bool put(OneFile::File header, size_t file, size_t at, size_t depth) {
    if (depth + 1 > kDeepest)
      return fail(file, at,
                  "headers include each other more than " + std::to_string(kDeepest) +
                      " deep; has '" + header.name + "' a guard?");
    if (one_.text.size() + header.text.size() > kMaxSourceBytes)
      return fail(file, at,
                  "with its headers the kernel's file is longer than " +
                      std::to_string(kMaxSourceBytes) +
                      " bytes; include what the kernel needs alone");
    const auto known = std::ranges::find(one_.files, header.name, &OneFile::File::name);
    const auto place = static_cast<size_t>(known - one_.files.begin());
    if (known == one_.files.end()) {
      if (!StringRef(header.text).ends_with("\n")) header.text += '\n';
      one_.files.push_back(std::move(header));
    }
    return splice(place, depth + 1);
  }

  struct Stretch {
    size_t begin, end;
  };
  void copy(StringRef text, size_t file, Stretch of) {
    if (of.begin == of.end) return;
    one_.parts.push_back({one_.text.size(), file, of.begin});
    one_.text += text.slice(of.begin, of.end);
  }

  // On lines of its own.
  void write(const std::string& text, size_t file, size_t at) {
    one_.parts.push_back({one_.text.size(), file, at, /*written=*/false});
    if (!one_.text.empty() && one_.text.back() != '\n') one_.text += '\n';
    one_.text += text;
  }

  bool fail(size_t file, size_t at, std::string what) {
    error_ = {file, at, std::move(what)};
    return false;
  }

  OneFile& one_;
  FindHeader find_;
  OneFileError& error_;
};

}  // namespace

bool put_headers_in_place(OneFile& one, const std::vector<std::string>& defines, FindHeader find,
                          OneFileError& error) {
  one.text.clear();
  one.parts.clear();
  for (const std::string& define : defines) {
    const size_t equals = define.find('=');
    one.text += "#define " + define.substr(0, equals) + " " +
                (equals == std::string::npos ? "1" : define.substr(equals + 1)) + "\n";
  }
  if (!one.text.empty()) one.parts.push_back({0, 0, 0, /*written=*/false});
  return Splicer(one, find, error).splice(0, 0);
}

}  // namespace tilepost
