#include "generator/own/source/put_headers.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "clang/Basic/TokenKinds.h"
#include "clang/Lex/DependencyDirectivesScanner.h"
#include "generator/clang/limits.h"
#include "llvm/ADT/SmallVector.h"

namespace tilepost {
namespace {

using llvm::StringRef;
namespace scan = clang::dependency_directives_scan;

// How deep inclusions may nest, as in compilers (GCC: 200).
constexpr size_t kDeepest = 200;

class Splicer {
 public:
  Splicer(OneFile& one, FindHeader find, OneFileError& error)
      : one_(one), find_(find), error_(error) {}

  // Puts a file in place, with the headers that it includes. `always`: no condition of the
  // preprocessor can leave the file out.
  bool splice(size_t file, size_t depth, bool always) {
    llvm::SmallVector<scan::Token, 64> tokens;
    llvm::SmallVector<scan::Directive, 32> directives;
    // This must be a copy, because `files` grows.
    const std::string text = one_.files[file].text;
    // Clang will report what this scanner cannot read.
    if (clang::scanSourceForDependencyDirectives(text, tokens, directives)) directives.clear();
    size_t done = 0;
    std::string guard;
    const bool guarded = has_guard(text, directives);
    size_t conditions = 0;  // how many are open around the directive, the guard included
    open_.push_back({file, guarded});
    for (const scan::Directive& directive : directives) {
      if (directive.Tokens.empty()) continue;
      const size_t begin = directive.Tokens.front().Offset;
      if (opens(directive.Kind)) ++conditions;
      if (directive.Kind == scan::pp_endif && conditions > 0) --conditions;
      const bool once = directive.Kind == scan::pp_pragma_once && guard.empty();
      if (once && conditions == (guarded ? 1 : 0)) {
        open_.back().guarded = true;
        if (always) put_.insert(file);
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
      if (!put(std::move(*header), {file, begin, depth, always && conditions == 0})) return false;
      done = name->end;
    }
    copy(text, file, {done, text.size()});
    if (!guard.empty()) write("#endif  // " + guard + "\n", file, text.size());
    open_.pop_back();
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

  static bool opens(scan::DirectiveKind kind) {
    return kind == scan::pp_if || kind == scan::pp_ifdef || kind == scan::pp_ifndef;
  }

  // Whether the whole file is inside `#ifndef NAME` and defines NAME first.
  static bool has_guard(StringRef text, llvm::ArrayRef<scan::Directive> all) {
    while (!all.empty() && all.back().Tokens.empty()) all = all.drop_back();
    if (all.size() < 3 || all[1].Kind != scan::pp_define || all.back().Kind != scan::pp_endif)
      return false;
    const StringRef asked = condition_of(text, all[0]), defined = word(text, all[1], 2);
    if (asked.empty() || asked != defined) return false;
    size_t depth = 0;
    for (const scan::Directive& directive : all.drop_back()) {
      if (opens(directive.Kind)) ++depth;
      if (directive.Kind == scan::pp_endif && --depth == 0) return false;
      const bool other = directive.Kind == scan::pp_else || directive.Kind == scan::pp_elif;
      if (other && depth == 1) return false;
    }
    return depth == 1;
  }

  // NAME of `#ifndef NAME` and `#if !defined(NAME)`, or "".
  static StringRef condition_of(StringRef text, const scan::Directive& directive) {
    if (directive.Kind == scan::pp_ifndef) return word(text, directive, 2);
    const bool asks = directive.Kind == scan::pp_if && word(text, directive, 2) == "!" &&
                      word(text, directive, 3) == "defined";
    if (!asks) return "";
    const bool in_parentheses = word(text, directive, 4) == "(";
    const bool ends = word(text, directive, in_parentheses ? 7 : 5).empty();
    return ends ? word(text, directive, in_parentheses ? 5 : 4) : "";
  }

  static StringRef word(StringRef text, const scan::Directive& directive, size_t at) {
    if (at >= directive.Tokens.size() || directive.Tokens[at].is(clang::tok::eod)) return "";
    return text.substr(directive.Tokens[at].Offset, directive.Tokens[at].Length);
  }

  static size_t line_end(StringRef text, size_t at) {
    return std::min(text.find('\n', at), text.size());
  }

  struct Inclusion {
    size_t file, at, depth;
    bool always;
  };
  bool put(OneFile::File header, const Inclusion& by) {
    const auto known = std::ranges::find(one_.files, header.name, &OneFile::File::name);
    const auto place = static_cast<size_t>(known - one_.files.begin());
    // A header with a guard adds nothing while it is being read, or after it surely was read.
    const auto is_open = [&](const Open& open) { return open.file == place && open.guarded; };
    if (put_.contains(place) || std::ranges::any_of(open_, is_open)) return true;
    if (by.depth + 1 > kDeepest)
      return fail(by.file, by.at,
                  "headers include each other more than " + std::to_string(kDeepest) +
                      " deep; has '" + header.name + "' a guard?");
    if (one_.text.size() + header.text.size() > kMaxSourceBytes)
      return fail(by.file, by.at,
                  "with its headers the kernel's file is longer than " +
                      std::to_string(kMaxSourceBytes) +
                      " bytes; include what the kernel needs alone, or mark the "
                      "kernel and say kernel.system_include_dirs");
    if (known == one_.files.end()) {
      if (!StringRef(header.text).ends_with("\n")) header.text += '\n';
      one_.files.push_back(std::move(header));
    }
    return splice(place, by.depth + 1, by.always);
  }

  struct Stretch {
    size_t begin, end;
  };
  void copy(StringRef text, size_t file, Stretch of) {
    if (of.begin == of.end) return;
    one_.parts.push_back({one_.text.size(), file, of.begin});
    one_.text += text.slice(of.begin, of.end);
  }

  // Writes text that no file contains, on lines of its own.
  void write(const std::string& text, size_t file, size_t at) {
    one_.parts.push_back({one_.text.size(), file, at, /*written=*/false});
    if (!one_.text.empty() && one_.text.back() != '\n') one_.text += '\n';
    one_.text += text;
  }

  bool fail(size_t file, size_t at, std::string what) {
    error_ = {file, at, std::move(what)};
    return false;
  }

  struct Open {
    size_t file;
    bool guarded;
  };

  OneFile& one_;
  FindHeader find_;
  OneFileError& error_;
  std::vector<Open> open_;  // files that are being put in place, the outermost first
  std::set<size_t> put_;    // files with `#pragma once` that surely were put in place
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
  return Splicer(one, find, error).splice(0, 0, /*always=*/true);
}

}  // namespace tilepost
