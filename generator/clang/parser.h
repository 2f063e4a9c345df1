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
  std::string spelled;  // "<cuda_runtime.h>"
};

// A place where the file asks for or uses a macro that it does not define.
struct ForeignMacro {
  enum class From { nobody, compiler, header };  // who has defined it there
  enum class Use {
    expansion,   // in the code, or while a condition is evaluated
    value,       // a condition depends on its value
    definition,  // #ifdef or #ifndef: depends on whether it is defined
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

  // Where the token is spelled, which may be inside a #define; nothing if the token is spelled in
  // another file or the preprocessor pasted it together.
  std::optional<size_t> spelled(clang::SourceLocation where) const;
  // Where the token stands after expansion: for a token from a macro, the macro's use. Nothing if
  // that is in another file.
  std::optional<size_t> expanded(clang::SourceLocation where) const;
  bool in_main(const clang::Decl* decl) const { return expanded(decl->getLocation()).has_value(); }
  // The end of the last token of the expansion.
  std::optional<size_t> expanded_end(clang::SourceLocation where) const;

  // Errors point at the spelling. If that is in a macro, a note says what expanded the macro.
  void error(clang::SourceLocation where, const llvm::Twine& message) const;
  void note(clang::SourceLocation where, const llvm::Twine& message) const;
  void error_at(Range where, const llvm::Twine& message) const;

  const Text& text;
  const Tokens& tokens;
  clang::ASTContext& ast;
  const clang::SourceManager& sm;
  Report& report;
  std::vector<Inclusion> inclusions, missing;  // found, and not
  // The lines that generated code must have in front of its includes, if headers ask for macros of
  // the file's own or come from a library; else empty. These are all inclusions up to the last one,
  // and the lines before it that define or undefine such macros, in their order.
  std::vector<std::string> first;
  std::vector<ForeignMacro> foreign_macros;  // without conditions that were not evaluated
  std::vector<Range> skipped;  // #if branches not taken: whole lines, without directives
  // Full mode: the files on disk that were included, sorted.
  std::vector<std::string> headers;
  // Full mode: the places in the text of Clang's errors that do not matter to the function and were
  // left out.
  std::vector<size_t> left_out;

 private:
  void say(Report::Kind kind, clang::SourceLocation where, const llvm::Twine& message) const;
  void say_in_header(Report::Kind kind, clang::SourceLocation where,
                     const llvm::Twine& message) const;
};

// A parse in which Clang found no error. Its tree can be looked at any number of times.
class Parse {
 public:
  // Parses a text. Clang's errors are reported in tilepost's form; null if there was one.
  static std::unique_ptr<Parse> of(const Text& text, const Reading& reading, Report& report);
  ~Parse();
  Parse(const Parse&) = delete;
  Parse& operator=(const Parse&) = delete;

  // Whether this is the parse of that text, read in that way.
  bool is_of(const Text& text, const Reading& reading) const;
  // Hands the tree to `use`, which may report errors. Returns whether none was reported.
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
