// One parse of a kernel's source with Clang, in memory.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/Basic/SourceManager.h"
#include "generator/clang/reading.h"
#include "generator/clang/report.h"
#include "generator/clang/tokens.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilepost {

struct Range {
  size_t begin, end;  // offsets
  bool contains(size_t offset) const { return begin <= offset && offset < end; }
};

// An #include that the preprocessor followed.
struct Inclusion {
  size_t at;            // of its #
  std::string spelled;  // "<cuda_bf16.h>"
};

// A macro that the file does not define, where it is asked for or used.
struct ForeignMacro {
  enum class From { nobody, compiler, header };  // who has defined it there
  enum class Use {
    expansion,   // in the code, or while a condition is worked out
    value,       // a condition depends on it
    definition,  // #ifdef or #ifndef: it depends on whether there is one
  };
  size_t at;  // its name, or the use of the macro that leads to it
  llvm::StringRef name;
  From from;
  Use use;
  bool written;  // in the file, not in a header's macro
};

// What a pass works on. All offsets are into `text`, the main file of the parse.
class Parsed {
 public:
  Parsed(const Text& source, const Tokens& source_tokens, clang::ASTContext& tree, Report& to)
      : text(source), tokens(source_tokens), ast(tree), sm(tree.getSourceManager()), report(to) {}

  // Where the token is spelled, also inside a #define; nothing if that is in another file or if the
  // preprocessor pasted the token together.
  std::optional<size_t> spelled(clang::SourceLocation where) const;
  // Where it stands after expansion: for a token from a macro, the macro's use. Nothing if in
  // another file.
  std::optional<size_t> expanded(clang::SourceLocation where) const;
  bool in_main(const clang::Decl* decl) const { return expanded(decl->getLocation()).has_value(); }
  // The end of the token that the expansion ends with.
  std::optional<size_t> expanded_end(clang::SourceLocation where) const;

  // Errors point at the spelling; where that is in a macro, a note says what expanded it.
  void error(clang::SourceLocation where, const llvm::Twine& message) const;
  void note(clang::SourceLocation where, const llvm::Twine& message) const;
  void error_at(Range where, const llvm::Twine& message) const;

  const Text& text;
  const Tokens& tokens;
  clang::ASTContext& ast;
  const clang::SourceManager& sm;
  Report& report;
  std::vector<Inclusion> inclusions, missing;  // found, and not
  // Where headers ask for macros of the file's, or are a library's: the lines up to the last
  // inclusion that define or take back such macros, and all that include, in their order. Else
  // empty.
  std::vector<std::string> first;
  std::vector<ForeignMacro> foreign_macros;  // conditions that were not worked out left out
  std::vector<Range> skipped;  // branches of #if not taken; whole lines, directives not included
  // Full mode: the files on disk that were included, sorted.
  std::vector<std::string> headers;
  // Full mode: where in the text errors were found that matter to nothing the function reaches.
  std::vector<size_t> left_out;

 private:
  void say(Report::Kind kind, clang::SourceLocation where, const llvm::Twine& message) const;
  void say_in_header(Report::Kind kind, clang::SourceLocation where,
                     const llvm::Twine& message) const;
};

// A parse that Clang found no error in. Its tree can be looked at again and again.
class Parse {
 public:
  // Clang's errors are reported as ours; null if there was one.
  static std::unique_ptr<Parse> of(const Text& text, const Reading& reading, Report& report);
  ~Parse();
  Parse(const Parse&) = delete;
  Parse& operator=(const Parse&) = delete;

  // Whether it is what a parse of that text would be.
  bool is_of(const Text& text, const Reading& reading) const;
  // Hands the tree to `use`, which may report. Returns whether nothing was reported.
  bool look(Report& report, llvm::function_ref<void(Parsed&)> use) const;

 private:
  struct State;
  explicit Parse(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// A parse that is looked at once: its errors are reported, or its tree is handed to `use`. Returns
// whether it was clean and nothing was reported.
bool parse(const Text& text, const Reading& reading, Report& report,
           llvm::function_ref<void(Parsed&)> use);

}  // namespace tilepost
