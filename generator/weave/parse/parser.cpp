#include "generator/weave/parse/parser.h"

#include <exception>
#include <functional>
#include <memory>

#include "clang/AST/ASTConsumer.h"
#include "clang/Basic/Version.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/FrontendAction.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "generator/resources.h"
#include "generator/weave/parse/clang_errors.h"
#include "generator/weave/parse/prelude.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/VirtualFileSystem.h"

namespace tilepost {
namespace {

using clang::SourceLocation;
using llvm::StringRef;

constexpr char kPreludePath[] = "/prelude/tilepost_prelude.h";

// What both languages share. Diagnostics shows fewer errors than Clang may find.
constexpr char kCommon[] =
    " -fsyntax-only -std=c++20 -fgnuc-version=4.2.1 -nostdsysteminc -w -fno-caret-diagnostics"
    " -ferror-limit 50 -internal-isystem /stub/ -internal-isystem /include/ ";
// The triples are fixed: the tree must not depend on the machine the generator runs on.
constexpr char kCuda[] =
    "-x cuda -triple nvptx64-nvidia-cuda -aux-triple x86_64-unknown-linux-gnu -target-cpu sm_90a"
    " -fcuda-is-device -include /prelude/tilepost_prelude.h";
constexpr char kHost[] = "-x c++ -triple x86_64-unknown-linux-gnu";

// What asks for a function's instantiation: code behind the source. Two line ends, as the last line
// may end in a backslash.
std::string with_asked(const Text& text, const Reading& reading) {
  if (reading.asked.empty()) return text.text;
  return text.text + "\n\nauto* const " + kAskedName + " = &" + reading.asked + ";\n";
}

StringRef source_path(bool cuda) {
  return cuda ? "/kernel.cu" : "/kernel.cpp";
}

std::vector<std::string> arguments(bool cuda) {
  const std::string line = std::string(cuda ? kCuda : kHost) + kCommon + source_path(cuda).str();
  llvm::SmallVector<StringRef> words;
  llvm::SplitString(line, words);
  std::vector<std::string> list;
  for (const StringRef word : words) list.push_back(word.str());
  return list;
}

llvm::IntrusiveRefCntPtr<llvm::vfs::FileSystem> make_files(StringRef source, bool cuda) {
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  const auto add = [&](const llvm::Twine& path, StringRef text) {
    files->addFile(path, 0, llvm::MemoryBuffer::getMemBuffer(text));
  };
  add(source_path(cuda), source);
  if (cuda) add(kPreludePath, cuda_prelude());
  for (const VirtualFile& header : stub_headers()) {
    if (is_known(header, cuda)) add(kStubFolder + header.name, header.text);
  }
  for (const Resource& resource : resources()) {
    if (resource.path.starts_with("include/")) add("/" + resource.path, resource.text);
  }
  return files;
}

// Collects the inclusions and the branches not taken of the main file.
class Preprocessing : public clang::PPCallbacks {
 public:
  Preprocessing(clang::SourceManager& sm, std::vector<Inclusion>& inclusions,
                std::vector<Range>& skipped)
      : sm_(sm), inclusions_(inclusions), skipped_(skipped) {}

  void InclusionDirective(SourceLocation hash, const clang::Token&, StringRef name, bool angled,
                          clang::CharSourceRange, clang::OptionalFileEntryRef, StringRef, StringRef,
                          const clang::Module*, bool, clang::SrcMgr::CharacteristicKind) override {
    if (!sm_.isWrittenInMainFile(hash)) return;
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
      void HandleTranslationUnit(clang::ASTContext& ast) override {
        if (!ast.getDiagnostics().hasErrorOccurred()) action.use_(action, ast);
      }
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

}  // namespace

bool parse(const Text& text, const Reading& reading, Report& report,
           llvm::function_ref<void(Parsed&)> use) {
  const Tokens tokens(text.text);
  const std::string source = with_asked(text, reading);
  ClangErrors errors(text, reading, report);
  const Fragile<clang::CompilerInstance> compiler;
  compiler->createFileManager(make_files(source, reading.cuda));
#if CLANG_VERSION_MAJOR >= 20
  compiler->createDiagnostics(compiler->getVirtualFileSystem(), &errors,
                              /*ShouldOwnClient=*/false);
#else
  compiler->createDiagnostics(&errors, /*ShouldOwnClient=*/false);
#endif
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  std::vector<const char*> words;
  const std::vector<std::string> line = arguments(reading.cuda);
  for (const std::string& word : line) words.push_back(word.c_str());
  clang::CompilerInvocation::CreateFromArgs(*invocation, words, compiler->getDiagnostics());
  compiler->setInvocation(std::move(invocation));

  bool used = false;
  const Fragile<Action> action([&](const Action& mine, clang::ASTContext& ast) {
    Parsed parsed(text, tokens, ast, report);
    parsed.inclusions = mine.inclusions;
    parsed.skipped = without_directives(mine.skipped, tokens, text.text);
    used = true;
    use(parsed);
  });
  compiler->ExecuteAction(*action);
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
