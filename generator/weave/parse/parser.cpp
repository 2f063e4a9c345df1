#include "generator/weave/parse/parser.h"

#include <exception>
#include <functional>
#include <memory>
#include <set>

#include "clang/AST/ASTConsumer.h"
#include "clang/Basic/DiagnosticLex.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "generator/weave/parse/clang_errors.h"
#include "generator/weave/parse/instantiate.h"
#include "generator/weave/parse/invocation.h"
#include "llvm/ADT/StringExtras.h"

namespace tilepost {
namespace {

using clang::SourceLocation;
using llvm::StringRef;

// What asks for a function's instantiation: code behind the source. Two line ends, as the last line
// may end in a backslash.
std::string with_asked(const Text& text, const Reading& reading) {
  if (reading.asked.empty()) return text.text;
  return text.text + "\n\nauto* const " + kAskedName + " = &" + reading.asked + ";\n";
}

// Collects the inclusions and the branches not taken of the main file.
class Preprocessing : public clang::PPCallbacks {
 public:
  Preprocessing(clang::SourceManager& sm, std::vector<Inclusion>& inclusions,
                std::vector<Range>& skipped)
      : sm_(sm), inclusions_(inclusions), skipped_(skipped) {}

  void InclusionDirective(SourceLocation hash, const clang::Token&, StringRef name, bool angled,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, StringRef,
                          StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    if (!sm_.isWrittenInMainFile(hash) || !file) return;
    const std::string spelled = angled ? "<" + name.str() + ">" : "\"" + name.str() + "\"";
    inclusions_.push_back({sm_.getFileOffset(hash), spelled});
  }

  // From the # that opens the branch to the # of the directive that ends it.
  void SourceRangeSkipped(clang::SourceRange range, SourceLocation end_hash) override {
    if (!sm_.isWrittenInMainFile(range.getBegin())) return;
    skipped_.push_back({sm_.getFileOffset(range.getBegin()), sm_.getFileOffset(end_hash)});
  }

 private:
  clang::SourceManager& sm_;
  std::vector<Inclusion>& inclusions_;
  std::vector<Range>& skipped_;
};

class Action : public clang::ASTFrontendAction {
 public:
  explicit Action(std::function<void(const Action&, clang::ASTContext&)> use)
      : use_(std::move(use)) {}

  std::vector<Inclusion> inclusions;
  std::vector<Range> skipped;

  bool BeginSourceFileAction(clang::CompilerInstance& compiler) override {
    compiler.getPreprocessor().addPPCallbacks(
        std::make_unique<Preprocessing>(compiler.getSourceManager(), inclusions, skipped));
    return true;
  }

  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&,
                                                        StringRef) override {
    struct Finished : clang::ASTConsumer {
      const Action& action;
      explicit Finished(const Action& mine) : action(mine) {}
      void HandleTranslationUnit(clang::ASTContext& ast) override { action.use_(action, ast); }
    };
    return std::make_unique<Finished>(*this);
  }

 private:
  std::function<void(const Action&, clang::ASTContext&)> use_;
};

// A skipped range starts at the directive that was not taken; what is skipped are the lines after.
std::vector<Range> without_directives(std::vector<Range> ranges, const Tokens& tokens,
                                      StringRef text) {
  for (Range& range : ranges) {
    range.begin = std::min(tokens.end_of_directive(range.begin) + 1, range.end);
    // Back over the indentation of the directive that ends it.
    range.end = std::max(range.begin, text.rfind('\n', range.end) + 1);
  }
  return ranges;
}

// The files on disk that were included, by their real paths.
std::vector<std::string> headers_read(const clang::SourceManager& sm) {
  std::set<std::string> paths;
  const clang::OptionalFileEntryRef main = sm.getFileEntryRefForID(sm.getMainFileID());
  for (auto file = sm.fileinfo_begin(); file != sm.fileinfo_end(); ++file) {
    const clang::FileEntryRef entry = file->first;
    if (main && entry.isSameRef(*main)) continue;
    const StringRef path = entry.getFileEntry().tryGetRealPathName();
    if (!path.empty() && !path.starts_with(kAddedFolder)) paths.insert(path.str());
  }
  return {paths.begin(), paths.end()};
}

}  // namespace

std::optional<size_t> Parsed::spelled(SourceLocation where) const {
  if (where.isInvalid()) return std::nullopt;
  const auto [file, offset] = sm.getDecomposedLoc(sm.getSpellingLoc(where));
  if (file != sm.getMainFileID() || offset > text.size()) return std::nullopt;
  return offset;
}

std::optional<size_t> Parsed::expanded(SourceLocation where) const {
  if (where.isInvalid()) return std::nullopt;
  const auto [file, offset] = sm.getDecomposedLoc(sm.getExpansionLoc(where));
  if (file != sm.getMainFileID() || offset > text.size()) return std::nullopt;
  return offset;
}

std::optional<size_t> Parsed::expanded_end(SourceLocation where) const {
  if (where.isInvalid()) return std::nullopt;
  const SourceLocation last = sm.getExpansionRange(where).getEnd();
  const std::optional<size_t> offset = expanded(last);
  if (!offset) return std::nullopt;
  return *offset + clang::Lexer::MeasureTokenLength(last, sm, ast.getLangOpts());
}

void Parsed::say(Report::Kind kind, SourceLocation where, const llvm::Twine& message) const {
  std::optional<size_t> at = spelled(where);
  if (!at) at = expanded(where);
  if (!at) {
    report.error(message);
    return;
  }
  const Token* token = tokens.at(*at);
  report.say(kind, text, *at, token ? token->end : *at, message);
  const std::optional<size_t> use = expanded(where);
  if (where.isMacroID() && use && *use != *at) {
    report.say(Report::Kind::note, text, *use, *use, "in the expansion of this macro");
  }
}

void Parsed::error(SourceLocation where, const llvm::Twine& message) const {
  say(Report::Kind::error, where, message);
}

void Parsed::note(SourceLocation where, const llvm::Twine& message) const {
  say(Report::Kind::note, where, message);
}

void Parsed::error_at(Range where, const llvm::Twine& message) const {
  report.say(Report::Kind::error, text, where.begin, where.end, message);
}

namespace {

// Clang knows no exceptions, so what one of std::bad_alloc has come through is in no state to be
// destroyed: it is left to the process, which ends.
template <class T>
class Fragile {
 public:
  template <class... Arguments>
  explicit Fragile(Arguments&&... arguments)
      : object_(std::make_unique<T>(std::forward<Arguments>(arguments)...)) {}
  Fragile(const Fragile&) = delete;
  Fragile& operator=(const Fragile&) = delete;
  ~Fragile() {
    if (std::uncaught_exceptions() > exceptions_) static_cast<void>(object_.release());
  }
  T& operator*() const { return *object_; }
  T* operator->() const { return object_.get(); }

 private:
  const int exceptions_ = std::uncaught_exceptions();
  std::unique_ptr<T> object_;
};

// In full mode, tells the errors that matter to the function asked for.
void settle(Parsed& parsed, const Reading& reading, ClangErrors& errors) {
  if (!reading.full) return;
  const clang::FunctionDecl* function =
      reading.asked.empty() ? nullptr : function_asked_for(parsed);
  if (!function) {
    errors.settle(parsed.sm, nullptr);
    return;
  }
  if (!parsed.ast.getDiagnostics().hasErrorOccurred()) return;
  const Reached reached(function, parsed.sm);
  errors.settle(parsed.sm, &reached);
  parsed.left_out = errors.left_out();
}

}  // namespace

bool parse(const Text& text, const Reading& reading, Report& report,
           llvm::function_ref<void(Parsed&)> use) {
  const Tokens tokens(text.text);
  const std::string source = with_asked(text, reading);
  ClangErrors errors(text, reading, report);
  const Fragile<clang::CompilerInstance> compiler;
  const Files files = make_files(source, reading);
  compiler->createFileManager(files);
#if CLANG_VERSION_MAJOR >= 20
  compiler->createDiagnostics(compiler->getVirtualFileSystem(), &errors,
                              /*ShouldOwnClient=*/false);
#else
  compiler->createDiagnostics(&errors, /*ShouldOwnClient=*/false);
#endif
  auto invocation = make_invocation(reading, files, &compiler->getDiagnostics());
  if (!invocation) {
    report.error("Clang could not read it: " + errors.unplaced());
    return false;
  }
  compiler->setInvocation(std::move(invocation));
  // A header that is missing ends nothing: whether it matters is seen by what is reached.
  if (reading.full) {
    compiler->getDiagnostics().setSeverity(clang::diag::err_pp_file_not_found,
                                           clang::diag::Severity::Error, SourceLocation());
  }

  bool used = false;
  const Fragile<Action> action([&](const Action& mine, clang::ASTContext& ast) {
    Parsed parsed(text, tokens, ast, report);
    settle(parsed, reading, errors);
    const clang::DiagnosticsEngine& all = ast.getDiagnostics();
    const bool stopped = reading.full ? all.hasFatalErrorOccurred() || !errors.unplaced().empty()
                                      : all.hasErrorOccurred();
    if (!report.ok() || stopped || !errors.about_asked().empty()) return;
    parsed.inclusions = mine.inclusions;
    parsed.skipped = without_directives(mine.skipped, tokens, text.text);
    if (reading.full) parsed.headers = headers_read(parsed.sm);
    used = true;
    use(parsed);
  });
  compiler->ExecuteAction(*action);
  if (!used && compiler->hasSourceManager()) errors.settle(compiler->getSourceManager(), nullptr);
  if (!errors.about_asked().empty() && report.ok()) {
    // Where a bracket of the source is open, what stands behind it is not at fault.
    Reading source_alone = reading;
    source_alone.asked.clear();
    if (parse(text, source_alone, report, [](Parsed&) {})) {
      report.error("function '" + reading.asked + "': " + errors.about_asked());
    }
    return false;
  }
  if (!used && report.ok()) report.error("Clang could not read it: " + errors.unplaced());
  return used && report.ok();
}

}  // namespace tilepost
