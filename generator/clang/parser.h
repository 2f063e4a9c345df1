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
  size_t begin, end;  // offsets in the text
  bool contains(size_t offset) const { return begin <= offset && offset < end; }
};

// An #include that the preprocessor followed.
struct Inclusion {
  size_t at;            // the place of its #
  std::string spelled;  // "<cuda_runtime.h>"
};

// A place where the file asks for or uses a macro that it does not define.
struct ForeignMacro {
  enum class From { nobody, compiler, header };  // who has defined the macro at that place
  enum class Use {
    expansion,   // the macro is expanded, in the code or while a condition is evaluated
    value,       // a condition depends on the macro's value
    definition,  // a condition such as #ifdef depends on whether the macro is defined
  };
  size_t at;  // the place of the name, or of the use of another macro that leads to it
  llvm::StringRef name;
  From from;
  Use use;
  bool written;  // whether the name is written in the file, not in a header's macro
};

// The result of a parse, on which passes work. All offsets are into `text`, the main file.
class Parsed {
 public:
  Parsed(const Text& source, const Tokens& source_tokens, clang::ASTContext& tree, Report& to)
      : text(source), tokens(source_tokens), ast(tree), sm(tree.getSourceManager()), report(to) {}

  // Where the token is spelled, which may be inside a #define. Nothing if it is spelled in another
  // file, or if the preprocessor pasted it together.
  std::optional<size_t> spelled(clang::SourceLocation where) const;
  // The place of the token after expansion. A token from a macro stands where the macro is used.
  // Nothing if this place is in another file.
  std::optional<size_t> expanded(clang::SourceLocation where) const;
  bool in_main(const clang::Decl* decl) const { return expanded(decl->getLocation()).has_value(); }
  // The end of the token. For a token from a macro, the end of the macro's use.
  std::optional<size_t> expanded_end(clang::SourceLocation where) const;

  // Errors point at the place where a token is spelled. If this is in a macro, a note points at the
  // use of the macro.
  void error(clang::SourceLocation where, const llvm::Twine& message) const;
  void note(clang::SourceLocation where, const llvm::Twine& message) const;
  void error_at(Range where, const llvm::Twine& message) const;

  const Text& text;
  const Tokens& tokens;
  clang::ASTContext& ast;
  const clang::SourceManager& sm;
  Report& report;
  std::vector<Inclusion> inclusions, missing;  // those whose header was found, and the others
  // The lines that generated code must have in front of its includes: all inclusions, and the lines
  // before the last inclusion that define or undefine macros that headers ask for, in their order.
  // Empty unless headers ask for macros of the file's own or come from a library.
  std::vector<std::string> first;
  std::vector<ForeignMacro> foreign_macros;  // except those in conditions not evaluated
  std::vector<Range> skipped;  // the lines of #if branches not taken, without the directives
  // Full mode: the files on disk that were included, sorted.
  std::vector<std::string> headers;
  // Full mode: the places in the text of those errors of Clang's that were left out, because they
  // do not matter to the function.
  std::vector<size_t> left_out;

 private:
  void say(Report::Kind kind, clang::SourceLocation where, const llvm::Twine& message) const;
  void say_in_header(Report::Kind kind, clang::SourceLocation where,
                     const llvm::Twine& message) const;
};

// A parse in which Clang found no error. Its tree can be looked at any number of times.
class Parse {
 public:
  // Parses a text. Reports Clang's errors in tilepost's form. Null if there was an error.
  static std::unique_ptr<Parse> of(const Text& text, const Reading& reading, Report& report);
  ~Parse();
  Parse(const Parse&) = delete;
  Parse& operator=(const Parse&) = delete;

  // Whether this is the parse of that text, read in that way.
  bool is_of(const Text& text, const Reading& reading) const;
  // Hands the tree to `use`, which may report errors. Returns whether it has reported none.
  bool look(Report& report, llvm::function_ref<void(Parsed&)> use) const;

 private:
  struct State;
  explicit Parse(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Parses a text and looks at it once: reports Clang's errors, or hands the tree to `use`. Returns
// whether nothing was reported.
bool parse(const Text& text, const Reading& reading, Report& report,
           llvm::function_ref<void(Parsed&)> use);

}  // namespace tilepost
